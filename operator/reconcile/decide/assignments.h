// Sends the agents of a generation their assignment and the address of the operator.
#pragma once

#include "operator/reconcile/decide/policy.h"

namespace sailor {

// Sends the assignment of a committed generation to each member that answers and whose workers have not all switched to
// the generation yet.
void send_assignments(PolicyResult& result, const Observation& observation, const GenerationRecord& record);

// Sends the address of this operator to the agents that know a different one. An operator that restarts may get a new
// address, and hints to the old address would be lost.
void update_callbacks(PolicyResult& result, const Observation& observation);

}  // namespace sailor
