#include "trainer/model/layer_state.h"

#include <cmath>

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include "trainer/device/device.h"

namespace sailor::trainer {
namespace {

constexpr double kInitialDeviation = 0.02;  // GPT-2's; residual layers divide it by sqrt(2 blocks)

std::uint64_t mixed(std::uint64_t value) {  // splitmix64's finalizer: nearby seeds give unrelated streams
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ULL;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebULL;
  return value ^ (value >> 31);
}

void fill(const at::Tensor& tensor, const ModelSpec& spec, Initial initial, at::Generator& generator) {
  switch (initial) {
    case Initial::kNormal:
      tensor.normal_(0, kInitialDeviation, generator);
      return;
    case Initial::kResidual:
      tensor.normal_(0, kInitialDeviation / std::sqrt(2.0 * spec.blocks), generator);
      return;
    case Initial::kOnes:
      tensor.fill_(1);
      return;
    case Initial::kZeros:
      tensor.zero_();
      return;
  }
}

at::TensorOptions float_options() { return at::device(compute_device()).dtype(at::kFloat); }

at::Tensor placed(const at::Tensor& tensor) { return tensor.to(compute_device()); }

// Calls use(part of the message, span) for each span. The part has the shape of the span.
template <class Use>
void for_each_part(const at::Tensor& message, const std::vector<StridedSpan>& spans, Use use) {
  std::int64_t begin = 0;
  for (const StridedSpan& span : spans) {
    const std::int64_t size = span.rows * span.length;
    use(message.narrow(0, begin, size).view({span.rows, span.length}), span);
    begin += size;
  }
}

}  // namespace

LayerState empty_state(const StateLayout& shard) { return empty_state(shard, compute_device()); }

LayerState empty_state(const StateLayout& shard, at::Device device) {
  const auto make = [&] { return at::empty({shard.size}, at::dtype(at::kFloat).device(device)); };
  return {.layout = shard, .weights = make(), .momentum = make(), .variance = make()};
}

LayerState initial_state(const ModelSpec& spec, const StateLayout& shard, std::uint64_t seed) {
  const StateLayout whole = layout_of(spec, shard.id);
  const std::uint64_t stream = mixed(seed * 0x9e3779b97f4a7c15ULL + static_cast<std::uint64_t>(shard.id) + 1);
  auto generator = at::make_generator<at::CPUGeneratorImpl>(stream);
  const at::Tensor weights = at::empty({whole.size}, at::kFloat);  // drawn on the CPU: the same on every device
  for (const TensorLayout& layout : whole.tensors) fill(view_of(weights, layout), spec, layout.initial, generator);
  return {.layout = shard,
          .weights = placed(shard == whole ? weights : packed(weights, spans_of(whole, slices_of(shard))).clone()),
          .momentum = at::zeros({shard.size}, float_options()),
          .variance = at::zeros({shard.size}, float_options())};
}

at::Tensor view_of(const at::Tensor& flat, const TensorLayout& layout) {
  return flat.narrow(0, layout.offset, layout.size()).view(layout.shape);
}

at::Tensor view_of(const at::Tensor& flat, const StridedSpan& span) {
  return flat.as_strided({span.rows, span.length}, {span.stride, 1}, flat.storage_offset() + span.offset);
}

at::Tensor packed(const at::Tensor& flat, const std::vector<StridedSpan>& spans) {
  if (spans.size() == 1 && spans.front().rows == 1) return view_of(flat, spans.front()).view({-1});
  std::vector<at::Tensor> views;
  views.reserve(spans.size());
  for (const StridedSpan& span : spans) views.push_back(view_of(flat, span).reshape({-1}));
  return views.empty() ? flat.new_empty({0}) : at::cat(views);
}

void pack_into(const at::Tensor& message, const at::Tensor& flat, const std::vector<StridedSpan>& spans) {
  const bool is_pinned = !flat.is_cpu() && message.is_cpu() && message.is_pinned();
  for_each_part(message, spans,
                [&](const at::Tensor& part, const StridedSpan& span) { part.copy_(view_of(flat, span), is_pinned); });
}

void unpack(const at::Tensor& message, const at::Tensor& flat, const std::vector<StridedSpan>& spans) {
  if (message.is_alias_of(flat)) return;
  for_each_part(message, spans,
                [&](const at::Tensor& part, const StridedSpan& span) { view_of(flat, span).copy_(part); });
}

void copy_slices(const std::vector<Slice>& slices, const LayerState& from, const LayerState& to) {
  const auto source = spans_of(from.layout, slices);
  const auto target = spans_of(to.layout, slices);
  unpack(packed(from.weights, source), to.weights, target);
  unpack(packed(from.momentum, source), to.momentum, target);
  unpack(packed(from.variance, source), to.variance, target);
}

}  // namespace sailor::trainer
