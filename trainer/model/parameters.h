// Parameters: the shard of one layer state with which a worker computes. It consists of the flat weights, a
// differentiable view of each tensor in them, and one flat gradient.
#pragma once

#include <array>
#include <map>
#include <string>
#include <string_view>

#include "trainer/model/layer_state.h"

namespace sailor::trainer {

// Linear layers that have the same input, and the name under which Parameters has their weights as one tensor.
inline constexpr std::array<std::string_view, 3> kQueryKeyValue = {"attention.query", "attention.key",
                                                                   "attention.value"};
inline constexpr std::string_view kJoinedQueryKeyValue = "attention.query-key-value.weight";

// The flat gradient is always FP32. In FP32 autograd accumulates the gradients of the microbatches in it directly. In
// BF16 the weights are a rounded copy of the state's, and collect_gradients() adds the BF16 gradients of each
// microbatch to the flat gradient.
//
// Some views show more than one tensor: the weights of query, key and value if they are adjacent in memory, and
// padded(). A layer computes either with such a view or with the tensors, and the gradient lies at the same place.
class Parameters {
 public:
  // `weights` is flat and shared with the caller. It may be longer than the shard: the rest, which is zero, pads the
  // last tensor with rows.
  Parameters(StateLayout shard, const at::Tensor& weights);

  [[nodiscard]] const at::Tensor& at(std::string_view name) const;
  [[nodiscard]] at::Tensor find(std::string_view name) const;  // undefined if there is no such tensor or joined weights
  [[nodiscard]] at::Tensor padded(std::string_view name) const;  // the tensor with its padding, if it has one
  [[nodiscard]] const TensorLayout& layout_of(std::string_view name) const;
  [[nodiscard]] const StateLayout& layout() const { return shard_; }
  [[nodiscard]] const at::Tensor& weights() const { return weights_; }  // without padding
  [[nodiscard]] const at::Tensor& gradient() const { return gradient_; }
  [[nodiscard]] at::Tensor& gradient() { return gradient_; }
  [[nodiscard]] at::Tensor gradient_of(std::string_view name) const;  // a view of the flat gradient

  void collect_gradients();  // call it after each backward pass over the layer; does nothing in FP32

 private:
  struct View {
    TensorLayout layout;  // without padding
    at::Tensor tensor;
  };
  void add_view(const TensorLayout& layout);
  void add_query_key_value();
  void add_padded(const at::Tensor& weights);

  StateLayout shard_;
  at::Tensor weights_;
  at::Tensor gradient_;
  std::map<std::string, View, std::less<>> views_;  // by name
};

}  // namespace sailor::trainer
