#include "trainer/step/weight_sync.h"

#include <algorithm>

#include <ATen/ATen.h>

#include "trainer/step/holder_spans.h"

namespace sailor::trainer {

WeightSync::WeightSync(const Roster& roster, int rank, TrainingGroups& groups, StageModel& model)
    : model_(model), shards_optimizer_(roster.shards_optimizer()) {
  if (!shards_optimizer_) return;
  for (const auto& [id, parameters] : model.parameters()) {
    const StateLayout held = roster.held_shard(rank, id);
    for (const TransferUnit& unit : roster.transfer_units_of(id)) {
      const auto found = std::ranges::find(unit.holders, rank);
      if (found == unit.holders.end()) continue;
      const auto own = slices_of_holder(unit, static_cast<int>(found - unit.holders.begin()));
      gathers_[id].push_back(
          {&groups.data_parallel(unit.holders), spans_of(held, own), spans_by_holder(parameters.layout(), unit)});
    }
  }
}

void WeightSync::run(const LayerStates& held) {
  for (auto& [id, parameters] : model_.parameters()) {
    const at::Tensor& state = held.at(id).weights;
    if (shards_optimizer_) {
      gather(id, held);
    } else if (!parameters.weights().is_alias_of(state)) {
      parameters.weights().copy_(state);
    }
  }
}

void WeightSync::gather(int layer_state, const LayerStates& held) {
  const at::Tensor& weights = model_.parameters().at(layer_state).weights();
  for (const Gather& gather : gathers_.at(layer_state)) {
    const std::int64_t length = longest_message(gather.spans_by_holder);
    const at::Tensor own = packed(held.at(layer_state).weights, gather.own_spans);
    const at::Tensor mine = at::zeros({length}, weights.options());
    mine.narrow(0, 0, own.numel()).copy_(own);
    const at::Tensor all = at::empty({length * std::ssize(gather.spans_by_holder)}, weights.options());
    gather.group->start_all_gather(mine, all)->wait();
    unpack_messages(all, weights, gather.spans_by_holder);
  }
}

}  // namespace sailor::trainer
