#include "trainer/model/parameters.h"

#include <algorithm>

#include <ATen/ATen.h>

#include "core/model/check.h"

namespace sailor::trainer {

Parameters::Parameters(StateLayout shard, at::Tensor weights)
    : shard_(std::move(shard)),
      weights_(std::move(weights)),
      gradient_(at::zeros({shard_.size}, weights_.options().dtype(at::kFloat))) {
  for (const TensorLayout& layout : shard_.tensors) {
    at::Tensor tensor = view_of(weights_, layout).detach();
    tensor.requires_grad_();
    if (weights_.scalar_type() == at::kFloat) tensor.mutable_grad() = view_of(gradient_, layout);
    tensors_.emplace(layout.name, std::move(tensor));
  }
}

const at::Tensor& Parameters::at(std::string_view name) const {
  const auto found = tensors_.find(name);
  SAILOR_CHECK(found != tensors_.end(), "layer state {} has no tensor {}", shard_.id, name);
  return found->second;
}

at::Tensor Parameters::find(std::string_view name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? at::Tensor() : found->second;
}

const TensorLayout& Parameters::layout_of(std::string_view name) const {
  const auto found = std::ranges::find(shard_.tensors, name, &TensorLayout::name);
  SAILOR_CHECK(found != shard_.tensors.end(), "layer state {} has no tensor {}", shard_.id, name);
  return *found;
}

void Parameters::collect_gradients() {
  if (weights_.scalar_type() == at::kFloat) return;
  for (const TensorLayout& layout : shard_.tensors) {
    at::Tensor& gradient = tensors_.at(layout.name).mutable_grad();
    if (!gradient.defined()) continue;
    view_of(gradient_, layout).add_(gradient);
    gradient.reset();
  }
}

}  // namespace sailor::trainer
