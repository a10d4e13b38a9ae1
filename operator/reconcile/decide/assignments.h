// What the agents of a generation are told.
#pragma once

#include "operator/reconcile/decide/policy.h"

namespace sailor {

// Sends the assignment of a committed generation to each member that does not obey it yet.
void send_assignments(PolicyResult& result, const Observation& observation, const GenerationRecord& record);

// Tells agents the address of this operator if they know another one: an operator that has restarted may have a new
// address, and the hints of the agents would be lost.
void update_callbacks(PolicyResult& result, const Observation& observation);

}  // namespace sailor
