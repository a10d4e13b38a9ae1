// The layers' forward passes: functions of parameters and input, differentiable by LibTorch. In a tensor-parallel group
// each worker calls them with its shards of the parameters and the same input, and gets the same output; with sequence
// parallelism input and output are its share of the tokens, but for the first layer's input and the last one's loss.
#pragma once

#include "trainer/model/parameters.h"
#include "trainer/model/tensor_parallel.h"

namespace sailor::trainer {

// What all layers of a model share.
struct LayerContext {
  ModelSpec spec;
  TensorParallel group;
};

// Shapes: B sequences, T tokens (of a share: T / degree), H hidden_size. Layer 0 takes tokens (B, T) of int64 and gives
// (B, T, H).
at::Tensor embedding_forward(const LayerContext& context, const Parameters& tokens, const Parameters* positions,
                             const at::Tensor& input);

at::Tensor block_forward(const LayerContext& context, int layer, const Parameters& block, const at::Tensor& input);

// The sum of the tokens' cross entropies (natural logarithm); `tokens` is the token embedding where it is tied.
at::Tensor head_loss(const LayerContext& context, const Parameters& head, const Parameters* tokens,
                     const at::Tensor& input, const at::Tensor& targets);

}  // namespace sailor::trainer
