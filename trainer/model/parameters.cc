#include "trainer/model/parameters.h"

#include <algorithm>

#include <ATen/ATen.h>

#include "core/model/check.h"

namespace sailor::trainer {

Parameters::Parameters(Piece part, at::Tensor weights)
    : part_(std::move(part)),
      weights_(std::move(weights)),
      gradient_(at::zeros({part_.size}, weights_.options().dtype(at::kFloat))) {
  for (const Slice& slice : part_.slices) {
    at::Tensor tensor = view_of(weights_, slice).detach();
    tensor.requires_grad_();
    if (weights_.scalar_type() == at::kFloat) tensor.mutable_grad() = view_of(gradient_, slice);
    tensors_.emplace(slice.name, std::move(tensor));
  }
}

const at::Tensor& Parameters::at(std::string_view name) const {
  const auto found = tensors_.find(name);
  SAILOR_CHECK(found != tensors_.end(), "piece {} has no tensor {}", part_.id, name);
  return found->second;
}

at::Tensor Parameters::find(std::string_view name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? at::Tensor() : found->second;
}

const Slice& Parameters::slice(std::string_view name) const {
  const auto found = std::ranges::find(part_.slices, name, &Slice::name);
  SAILOR_CHECK(found != part_.slices.end(), "piece {} has no tensor {}", part_.id, name);
  return *found;
}

void Parameters::collect_gradients() {
  if (weights_.scalar_type() == at::kFloat) return;
  for (const Slice& slice : part_.slices) {
    at::Tensor& gradient = tensors_.at(slice.name).mutable_grad();
    if (!gradient.defined()) continue;
    view_of(gradient_, slice).add_(gradient);
    gradient.reset();
  }
}

}  // namespace sailor::trainer
