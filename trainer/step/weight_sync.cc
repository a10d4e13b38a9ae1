#include "trainer/step/weight_sync.h"

#include <algorithm>

#include <ATen/ATen.h>

#include "trainer/step/shares.h"

namespace sailor::trainer {

WeightSync::WeightSync(const Roster& roster, int rank, Groups& groups, StageModel& model)
    : model_(model), shards_optimizer_(roster.shards_optimizer()) {
  if (!shards_optimizer_) return;
  for (const auto& [id, parameters] : model.pieces()) {
    const Piece held = roster.held_part(rank, id);
    for (const Parcel& parcel : roster.parcels_of(id)) {
      const auto found = std::ranges::find(parcel.holders, rank);
      if (found == parcel.holders.end()) continue;
      const auto own = share_of(parcel, static_cast<int>(found - parcel.holders.begin()));
      gathers_[id].push_back(
          {&groups.of(parcel.holders), blocks_of(held, own), blocks_of_shares(parameters.piece(), parcel)});
    }
  }
}

void WeightSync::run(const PieceStates& held) {
  for (auto& [id, parameters] : model_.pieces()) {
    const at::Tensor& state = held.at(id).weights;
    if (shards_optimizer_) {
      gather(id, held);
    } else if (!parameters.weights().is_alias_of(state)) {
      parameters.weights().copy_(state);
    }
  }
}

void WeightSync::gather(int piece, const PieceStates& held) {
  const at::Tensor& weights = model_.pieces().at(piece).weights();
  for (const Gather& gather : gathers_.at(piece)) {
    const std::int64_t length = longest_share(gather.shares);
    const at::Tensor share = packed(held.at(piece).weights, gather.own_share);
    const at::Tensor mine = at::zeros({length}, weights.options());
    mine.narrow(0, 0, share.numel()).copy_(share);
    const at::Tensor all = at::empty({length * std::ssize(gather.shares)}, weights.options());
    gather.group->start_gather(mine, all)->wait();
    unpack_shares(all, weights, gather.shares);
  }
}

}  // namespace sailor::trainer
