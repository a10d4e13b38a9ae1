// The forward passes of the layers, as differentiable functions of parameters and input. In a tensor-parallel group
// each worker calls them with its shards of the parameters and the same input, and gets the same output. With sequence
// parallelism the input and the output are the worker's part of the tokens, but the first layer takes all token ids.
// The last layer ends in loss.h.
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

// Returns what the weights of the vocabulary are multiplied with.
at::Tensor head_forward(const LayerContext& context, const Parameters& head, const at::Tensor& input);

}  // namespace sailor::trainer
