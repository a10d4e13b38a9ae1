// How the trainer divides the loss of a microbatch: the trainer and the memory model must agree.
#pragma once

#include <cstdint>

namespace sailor {

// A worker has the logits of at most about this many pairs of a token and an entry of the vocabulary at once: 512 MiB
// in FP32. Smaller chunks would slow GPUs down, because every chunk reads the weights and writes their gradient.
inline constexpr std::int64_t kLogitsOfChunk = std::int64_t{1} << 27;

// Returns how many of a microbatch's tokens a chunk has. The chunks have equal sizes, except that the last may have
// fewer tokens. All workers of a tensor-parallel group get the same, so that they communicate equally often.
inline std::int64_t tokens_of_loss_chunk(std::int64_t tokens, std::int64_t vocabulary, std::int64_t tensor_parallel) {
  const auto divided_up = [](std::int64_t a, std::int64_t b) { return (a + b - 1) / b; };
  const std::int64_t chunks = divided_up(tokens * divided_up(vocabulary, tensor_parallel), kLogitsOfChunk);
  return divided_up(tokens, chunks);
}

}  // namespace sailor
