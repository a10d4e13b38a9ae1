#include "trainer/model/parameters.h"

#include <algorithm>

#include <ATen/ATen.h>

#include "core/model/check.h"

namespace sailor::trainer {
namespace {

std::string name_of_padded(std::string_view name) { return "padded " + std::string(name); }

at::Tensor leaf_of(const at::Tensor& view) {
  at::Tensor leaf = view.detach();
  leaf.requires_grad_();
  return leaf;
}

}  // namespace

Parameters::Parameters(StateLayout shard, const at::Tensor& weights)
    : shard_(std::move(shard)),
      weights_(weights.narrow(0, 0, shard_.size)),
      gradient_(at::zeros({shard_.size}, weights.options().dtype(at::kFloat))) {
  for (const TensorLayout& layout : shard_.tensors) add_view(layout);
  add_query_key_value();
  if (weights.numel() > shard_.size) add_padded(weights);
}

void Parameters::add_view(const TensorLayout& layout) {
  at::Tensor tensor = leaf_of(view_of(weights_, layout));
  if (weights_.scalar_type() == at::kFloat) tensor.mutable_grad() = view_of(gradient_, layout);
  views_.insert_or_assign(layout.name, View{layout, std::move(tensor)});
}

void Parameters::add_query_key_value() {
  TensorLayout joined{.name = std::string(kJoinedQueryKeyValue), .shape = {}};
  for (const std::string_view linear : kQueryKeyValue) {
    const auto found = std::ranges::find(shard_.tensors, std::string(linear) + ".weight", &TensorLayout::name);
    if (found == shard_.tensors.end()) return;
    if (joined.shape.empty()) {
      joined.offset = found->offset;
      joined.shape = found->shape;
    } else if (found->offset == joined.offset + joined.size()) {
      joined.shape[0] += found->shape[0];
    } else {
      return;  // a bias lies between them
    }
  }
  add_view(joined);
}

void Parameters::add_padded(const at::Tensor& weights) {
  SAILOR_CHECK(weights.scalar_type() != at::kFloat, "layer state {} has padding, and weights of its own state",
               shard_.id);
  const TensorLayout& last = shard_.tensors.back();
  const std::int64_t width = last.shape.at(1);
  const at::Tensor rows = weights.narrow(0, last.offset, weights.numel() - last.offset).view({-1, width});
  views_.insert_or_assign(name_of_padded(last.name), View{last, leaf_of(rows)});
}

const at::Tensor& Parameters::at(std::string_view name) const {
  const auto found = views_.find(name);
  SAILOR_CHECK(found != views_.end(), "layer state {} has no tensor {}", shard_.id, name);
  return found->second.tensor;
}

at::Tensor Parameters::find(std::string_view name) const {
  const auto found = views_.find(name);
  return found == views_.end() ? at::Tensor() : found->second.tensor;
}

at::Tensor Parameters::padded(std::string_view name) const {
  const at::Tensor with_padding = find(name_of_padded(name));
  return with_padding.defined() ? with_padding : at(name);
}

const TensorLayout& Parameters::layout_of(std::string_view name) const {
  const auto found = std::ranges::find(shard_.tensors, name, &TensorLayout::name);
  SAILOR_CHECK(found != shard_.tensors.end(), "layer state {} has no tensor {}", shard_.id, name);
  return *found;
}

at::Tensor Parameters::gradient_of(std::string_view name) const { return view_of(gradient_, layout_of(name)); }

void Parameters::collect_gradients() {
  if (weights_.scalar_type() == at::kFloat) return;
  for (auto& [name, view] : views_) {
    at::Tensor& gradient = view.tensor.mutable_grad();
    if (!gradient.defined()) continue;
    view_of(gradient_, view.layout).add_(gradient.narrow(0, 0, view.layout.shape.front()));
    gradient.reset();
  }
}

}  // namespace sailor::trainer
