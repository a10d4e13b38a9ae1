#include "trainer/step/gradient_sums.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <ATen/ATen.h>

#include "trainer/device/device.h"
#include "trainer/step/holder_spans.h"

namespace sailor::trainer {
namespace {

std::vector<Slice> replicated_slices(const StateLayout& shard) {
  std::vector<Slice> slices = slices_of(shard);
  std::size_t i = 0;
  std::erase_if(slices, [&](const Slice&) { return shard.tensors[i++].cut.is_by_tensor_parallel; });
  return slices;
}

// Computes the norms of short runs of elements in FP32 and sums them in double precision. This reads the memory only
// once.
void add_squared_norm(const at::Tensor& sum, const at::Tensor& rows) {
  constexpr std::int64_t kRun = 4096;
  const auto add = [&](const at::Tensor& runs) {
    const at::Tensor norms = at::linalg_vector_norm(runs, 2, at::IntArrayRef{1}).to(at::kDouble);
    sum.add_(norms.square().sum());
  };
  if (rows.size(0) > 1) return add(rows);
  const std::int64_t even = rows.size(1) / kRun * kRun;
  if (even > 0) add(rows.narrow(1, 0, even).view({-1, kRun}));
  if (even < rows.size(1)) add(rows.narrow(1, even, rows.size(1) - even));
}

}  // namespace

GradientSums::GradientSums(const Roster& roster, int rank, TrainingGroups& groups, StageModel& model)
    : model_(model), tensor_parallel_(roster.tensor_parallel_rank_of(rank).tensor_parallel) {
  for (auto& [id, parameters] : model.parameters()) {
    const StateLayout& computed = parameters.layout();
    const StateLayout held = roster.held_shard(rank, id);
    LayerSums layer_state;
    layer_state.saved = spans_of(held, roster.saved_slices(rank, id));
    layer_state.held_gradient =
        held == computed ? parameters.gradient() : at::zeros({held.size}, parameters.gradient().options());
    if (tensor_parallel_ > 1 && !model.group().is_sequence_parallel())
      layer_state.replicated = spans_of(computed, replicated_slices(computed));
    for (const TransferUnit& unit : roster.transfer_units_of(id)) {
      const auto found = std::ranges::find(unit.holders, rank);
      if (found == unit.holders.end()) continue;
      Sum sum{.group = &groups.data_parallel(unit.holders),
              .spans = spans_of(computed, unit.slices),
              .spans_by_holder = {},
              .own_spans = {}};
      if (roster.shards_optimizer()) {
        sum.spans_by_holder = spans_by_holder(computed, unit);
        sum.own_spans = spans_of(held, slices_of_holder(unit, static_cast<int>(found - unit.holders.begin())));
      }
      layer_state.sums.push_back(std::move(sum));
    }
    layer_states_.emplace(id, std::move(layer_state));
  }
}

void GradientSums::begin(OnComplete on_complete) { on_complete_ = std::move(on_complete); }

void GradientSums::start(int layer_state) {
  const LayerSums& sums = layer_states_.at(layer_state);
  const at::Tensor& gradient = model_.parameters().at(layer_state).gradient();
  // A tensor that the tensor-parallel group does not split has the same, whole gradient on each worker of the group.
  // The sum includes all these workers, so each contributes only its fraction. With sequence parallelism `replicated`
  // is empty, because the gradient on each worker is that of its own tokens.
  for (const StridedSpan& span : sums.replicated) view_of(gradient, span).div_(tensor_parallel_);
  const std::size_t pending_before = pending_.size();
  for (const Sum& sum : sums.sums) {
    if (sum.spans_by_holder.empty()) {
      start_whole(layer_state, sum, gradient);
    } else {
      start_scattered(layer_state, sum, gradient);
    }
  }
  if (pending_.size() == pending_before) on_complete_(layer_state, sums.held_gradient);
}

void GradientSums::start_whole(int layer_state, const Sum& sum, const at::Tensor& gradient) {
  if (sum.group->size() == 1) return;
  const at::Tensor message = packed(gradient, sum.spans);
  pending_.push_back({layer_state, message, gradient, &sum.spans, sum.group->start_all_reduce(message)});
}

void GradientSums::start_scattered(int layer_state, const Sum& sum, const at::Tensor& gradient) {
  const at::Tensor shards = packed_messages(gradient, sum.spans_by_holder);
  const at::Tensor mine = at::empty({shards.numel() / sum.group->size()}, shards.options());
  pending_.push_back({layer_state, mine, layer_states_.at(layer_state).held_gradient, &sum.own_spans,
                      sum.group->start_reduce_scatter(shards, mine)});
}

void GradientSums::finish() {
  for (auto pending = pending_.begin(); pending != pending_.end(); ++pending) {
    pending->work->wait();
    unpack(pending->message, pending->target, *pending->spans);
    const auto next = std::next(pending);
    const bool is_last = next == pending_.end() || next->layer_state != pending->layer_state;
    if (is_last) on_complete_(pending->layer_state, of(pending->layer_state));
  }
  pending_.clear();
}

at::Tensor GradientSums::squared_norm_of_saved() const {
  const at::Tensor sum = at::zeros({}, at::device(compute_device()).dtype(at::kDouble));
  for (const auto& [id, layer_state] : layer_states_) {
    for (const StridedSpan& span : layer_state.saved) {
      add_squared_norm(sum, view_of(layer_state.held_gradient, span));
    }
  }
  return sum;
}

}  // namespace sailor::trainer
