// The forward passes of the layers, as differentiable functions of parameters and input. In a tensor-parallel group
// each worker calls them with its shards of the parameters and the same input, and gets the same output. With sequence
// parallelism the input and the output are the worker's part of the tokens. There are two exceptions: the first layer
// takes all token ids, and all workers get the same loss.
#pragma once

#include <memory>

#include "trainer/model/parameters.h"
#include "trainer/model/rotary.h"
#include "trainer/model/tensor_parallel.h"

namespace sailor::trainer {

// What all layers of a model share.
struct LayerContext {
  ModelSpec spec;
  TensorParallel group;
  std::shared_ptr<RotaryEmbedding> rotary = std::make_shared<RotaryEmbedding>(spec.rope_theta);
};

// Shapes: B sequences, T tokens (with sequence parallelism T / workers), H hidden_size. Layer 0 takes token ids (B, T)
// of type int64 and returns (B, T, H).
at::Tensor embedding_forward(const LayerContext& context, const Parameters& tokens, const Parameters* positions,
                             const at::Tensor& input);

at::Tensor block_forward(const LayerContext& context, int layer, const Parameters& block, const at::Tensor& input);

// Returns the sum of the cross entropies of the tokens (natural logarithm). `tokens` is the token embedding if it is
// tied, else null.
at::Tensor head_loss(const LayerContext& context, const Parameters& head, const Parameters* tokens,
                     const at::Tensor& input, const at::Tensor& targets);

}  // namespace sailor::trainer
