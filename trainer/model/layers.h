// The layers' forward passes: functions of parameters and input, differentiable by LibTorch.
#pragma once

#include "trainer/model/parameters.h"

namespace sailor::trainer {

// Shapes: B sequences, T tokens, H hidden_size. Layer 0 takes tokens (B, T) of int64 and gives (B, T, H).
at::Tensor embedding_forward(const ModelSpec& spec, const Parameters& tokens, const Parameters* positions,
                             const at::Tensor& input);

at::Tensor block_forward(const ModelSpec& spec, int layer, const Parameters& block, const at::Tensor& input);

// The sum of the tokens' cross entropies (natural logarithm); `tokens` is the token embedding where it is tied.
at::Tensor head_loss(const ModelSpec& spec, const Parameters& head, const Parameters* tokens, const at::Tensor& input,
                     const at::Tensor& targets);

}  // namespace sailor::trainer
