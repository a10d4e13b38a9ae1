// StateTransfer: carries units of the state from worker to worker, memory to memory.
#pragma once

#include <vector>

#include "trainer/comm/group.h"
#include "trainer/elastic/state_units.h"
#include "trainer/model/piece_state.h"

namespace sailor::trainer {

struct UnitMove {
  int unit = 0;
  int from = 0;  // ranks
  int to = 0;
  friend bool operator==(const UnitMove&, const UnitMove&) = default;
};

// What `rank` holds in the new plan: units that `held` has are taken from there, the others as `moves` say, which is
// the same list on all ranks and brings each unit that a rank wants and does not hold. `held` stays as it is: a state
// whose part does not change shares its tensors with the result.
PieceStates transferred(const StateUnits& units, const std::vector<UnitMove>& moves, const Roster& roster, int rank,
                        Group& everyone, const PieceStates& held);

}  // namespace sailor::trainer
