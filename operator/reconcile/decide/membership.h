// Membership: who takes part in a generation, and when they may be notified. Applies the protocol's functions
// (operator/protocol/fencing.h) to an observation.
#pragma once

#include "operator/reconcile/decide/policy.h"

namespace sailor {

// Writes the members of a generation into its record once all pods that take part are ready, and every older generation
// that may still train is fenced. Nobody is notified of the generation before that.
PolicyResult commit_membership(const Observation& observation, const GenerationRecord& record);

}  // namespace sailor
