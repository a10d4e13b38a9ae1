// StateTransfer: carries units of the state from worker to worker, memory to memory.
#pragma once

#include <vector>

#include "trainer/comm/group.h"
#include "trainer/elastic/protocol/transfers.h"
#include "trainer/elastic/state_units.h"
#include "trainer/model/piece_state.h"

namespace sailor::trainer {

// What `rank` holds in the new plan: units that `held` has are taken from there, the others as `moves` say, whose
// slices are units: the same list on all ranks, which brings each unit that a rank wants and does not hold. `held`
// stays as it is: a state whose part does not change shares its tensors with the result.
PieceStates transferred(const StateUnits& units, const std::vector<SliceMove>& moves, const Roster& roster, int rank,
                        Group& everyone, const PieceStates& held);

}  // namespace sailor::trainer
