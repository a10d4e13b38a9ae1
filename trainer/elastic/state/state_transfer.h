// State transfer: sends transfer units from worker to worker, from memory to memory. protocol/transfers.h plans the
// moves.
#pragma once

#include <array>
#include <vector>

#include "trainer/comm/group.h"
#include "trainer/elastic/protocol/transfers.h"
#include "trainer/elastic/state/held_state.h"
#include "trainer/elastic/state/transfer_units.h"

namespace sailor::trainer {

inline constexpr std::size_t kStateTensors = 3;  // weights, momentum, variance
std::array<at::Tensor, kStateTensors> tensors_of(const LayerState& state);

// A worker and the slices that it has in the new plan.
struct TransferTarget {
  int rank = 0;
  WorkerSlices wanted;
};

// Puts the slices of the target into `held.arrived` and `held.arrived_peer_replicas`. Units that the worker already has
// are copied. The other units come from the workers that `moves` names. All ranks must pass the same `moves`, which
// contain each unit that a rank wants and does not have. The rest of `held` does not change. A shard that stays the
// same is not copied: `held.arrived` shares its tensors. Throws as the functions of Group do; in that case nothing has
// arrived.
void transfer_state(const TransferUnits& units, const std::vector<UnitMove>& moves, const TransferTarget& target,
                    Group& everyone, HeldState& held);

}  // namespace sailor::trainer
