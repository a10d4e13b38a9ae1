// The loss, and the gradients that follow from it. The logits of a microbatch (tokens x vocabulary) are larger than
// anything else that a layer computes. So they exist for one chunk of tokens at a time, and all that needs them is
// computed at once: the loss, and the gradients of the hidden states and of the weights. Autograd would keep the logits
// of all microbatches in flight.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "trainer/model/parameters.h"
#include "trainer/model/tensor_parallel.h"

namespace sailor::trainer {

// The weights of the last layer that turn hidden states into logits, or one worker's shard of them. H is hidden_size.
struct OutputWeights {
  at::Tensor weight;       // (rows and padding, H)
  at::Tensor gradient;     // (rows, H), FP32; loss_with_gradient() adds to it
  std::int64_t begin = 0;  // the entry of the vocabulary that the first row stands for
};

// `tokens` is the token embedding if the model ties it to the head, else null.
OutputWeights output_weights(const Parameters& head, const Parameters* tokens);

struct LossTargets {
  at::Tensor tokens;  // the ids of the tokens that the hidden states should predict, (B, T)
  double factor = 1;  // the gradients are those of the loss times this factor
};

struct LossWithGradient {
  at::Tensor loss;      // scalar, FP64, without the factor
  at::Tensor gradient;  // of the hidden states, in their shape
};

// Returns the sum of the cross entropies of the tokens (natural logarithm). B sequences of T tokens: `hidden` has the
// shape (B, T, H), or with sequence parallelism (B, T / workers, H); `targets` has the token ids (B, T). In a
// tensor-parallel group all workers must call it, and get the same loss. `chunk` is the number of tokens of a chunk
// (core/model/loss_chunk.h).
at::Tensor loss_of(const TensorParallel& group, const OutputWeights& weights, const at::Tensor& hidden,
                   const at::Tensor& targets, std::int64_t chunk);

// The same, with the gradients.
LossWithGradient loss_with_gradient(const TensorParallel& group, const OutputWeights& weights, const at::Tensor& hidden,
                                    const LossTargets& targets, std::int64_t chunk);

}  // namespace sailor::trainer
