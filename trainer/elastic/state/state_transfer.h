// StateTransfer: sends transfer units from worker to worker, from memory to memory.
#pragma once

#include <array>
#include <vector>

#include "trainer/comm/group.h"
#include "trainer/elastic/protocol/transfers.h"
#include "trainer/elastic/state/held_state.h"
#include "trainer/elastic/state/transfer_units.h"

namespace sailor::trainer {

inline constexpr int kStateTensors = 3;
std::array<at::Tensor, kStateTensors> tensors_of(const LayerState& state);

// A worker and the slices that it has in the new plan.
struct TransferTarget {
  int rank = 0;
  WorkerSlices wanted;
};

// Puts the slices of the target into `held.arrived` and `held.arrived_peer_replicas`. Units that the worker already has
// are copied or shared; the others arrive as `moves` says. `moves` is the same list on all ranks and contains each unit
// that a rank wants and does not have. The state that the worker had stays unchanged; a shard that does not change
// shares its tensors with the arrived one. Throws PeerLost; then nothing has arrived.
void transfer_state(const TransferUnits& units, const std::vector<UnitMove>& moves, const TransferTarget& target,
                    Group& everyone, HeldState& held);

}  // namespace sailor::trainer
