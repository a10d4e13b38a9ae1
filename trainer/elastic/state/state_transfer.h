// StateTransfer: carries units of the state from worker to worker, memory to memory.
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

// Of one worker: its rank and what it is to hold in the new plan.
struct Taker {
  int rank = 0;
  WorkerSlices wanted;
};

// Makes what the taker is to hold arrive in `held`: units that it has are taken from there, the others as `moves` say,
// whose slices are units: the same list on all ranks, which brings each unit that a rank wants and does not hold. What
// it held stays as it is: a state whose shard does not change shares its tensors with what arrived. Where it throws
// PeerLost nothing has arrived.
void transfer_state(const TransferUnits& units, const std::vector<UnitMove>& moves, const Taker& taker, Group& everyone,
                    HeldState& held);

}  // namespace sailor::trainer
