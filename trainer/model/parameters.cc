#include "trainer/model/parameters.h"

#include <ATen/ATen.h>

#include "planner/model/check.h"

namespace sailor::trainer {

Parameters::Parameters(Piece piece, const PieceState& state)
    : piece_(std::move(piece)), gradient_(at::zeros_like(state.weights)) {
  for (const Slice& slice : piece_.slices) {
    at::Tensor tensor = view_of(state.weights, slice).detach();
    tensor.requires_grad_();
    tensor.mutable_grad() = view_of(gradient_, slice);
    tensors_.emplace(slice.name, std::move(tensor));
  }
}

const at::Tensor& Parameters::at(std::string_view name) const {
  const auto found = tensors_.find(name);
  SAILOR_CHECK(found != tensors_.end(), "piece {} has no tensor {}", piece_.id, name);
  return found->second;
}

at::Tensor Parameters::find(std::string_view name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? at::Tensor() : found->second;
}

}  // namespace sailor::trainer
