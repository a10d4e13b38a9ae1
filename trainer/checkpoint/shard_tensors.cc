#include "trainer/checkpoint/shard_tensors.h"

#include <algorithm>

#include <ATen/ATen.h>

#include "core/model/check.h"

namespace sailor::trainer {
namespace {

std::vector<float> copied(const at::Tensor& flat, const std::vector<StridedSpan>& spans) {
  const at::Tensor values = packed(flat, spans).contiguous().cpu();
  const auto* data = values.const_data_ptr<float>();
  return {data, data + values.numel()};
}

at::Tensor tensor_view(const std::vector<float>& values) {
  // LibTorch has no view of constant memory; the tensor is only read.
  return at::from_blob(const_cast<float*>(values.data()), {std::ssize(values)}, at::kFloat);
}

}  // namespace

SavedShard saved_shard_of(const LayerState& state, const std::vector<Slice>& slices, int writer) {
  const std::vector<StridedSpan> spans = spans_of(state.layout, slices);
  return {.layer_state = state.layout.id,
          .writer = writer,
          .slices = slices,
          .weights = copied(state.weights, spans),
          .momentum = copied(state.momentum, spans),
          .variance = copied(state.variance, spans)};
}

LayerState state_of(const StateLayout& shard, const SavedShard& saved) {
  SAILOR_CHECK(std::ssize(saved.weights) == shard.size, "layer state {}: {} elements for {}", shard.id,
               saved.weights.size(), shard.size);
  LayerState state = empty_state(shard);
  state.weights.copy_(tensor_view(saved.weights));
  state.momentum.copy_(tensor_view(saved.momentum));
  state.variance.copy_(tensor_view(saved.variance));
  return state;
}

}  // namespace sailor::trainer
