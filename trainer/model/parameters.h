// Parameters: the shard of one layer state with which a worker computes. It consists of the flat weights, a
// differentiable view of each tensor in them, and one flat gradient.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "trainer/model/layer_state.h"

namespace sailor::trainer {

// The flat gradient is always FP32. In FP32 autograd accumulates the gradients of the microbatches in it directly. In
// BF16 the weights are a rounded copy of the state's, and collect_gradients() adds the BF16 gradients of each
// microbatch to the flat gradient.
class Parameters {
 public:
  Parameters(StateLayout shard, at::Tensor weights);  // `weights` is flat and shared with the caller

  [[nodiscard]] const at::Tensor& at(std::string_view name) const;
  [[nodiscard]] at::Tensor find(std::string_view name) const;  // undefined if the layer state has no such tensor
  [[nodiscard]] const TensorLayout& layout_of(std::string_view name) const;
  [[nodiscard]] const StateLayout& layout() const { return shard_; }
  [[nodiscard]] const at::Tensor& weights() const { return weights_; }
  [[nodiscard]] const at::Tensor& gradient() const { return gradient_; }
  [[nodiscard]] at::Tensor& gradient() { return gradient_; }

  void collect_gradients();  // call it after each backward pass over the layer; does nothing in FP32

 private:
  StateLayout shard_;
  at::Tensor weights_;
  at::Tensor gradient_;
  std::map<std::string, at::Tensor, std::less<>> tensors_;
};

}  // namespace sailor::trainer
