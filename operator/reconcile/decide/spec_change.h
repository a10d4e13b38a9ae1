// The policy that responds to a change of the spec.
#pragma once

#include <optional>

#include "operator/reconcile/decide/policy.h"

namespace sailor {

// Applies while the newest plan was made for an older spec. With elasticity Live, the job trains on until the pods of
// the new plan are ready. With Restart, it restarts with new pods. If it may
// not change by choice, or if the new plan is the same or there is none, it keeps its plan and its pods; a new
// generation then tells the workers what has changed for them.
std::optional<PolicyResult> follow_changed_spec(const Observation& observation);

}  // namespace sailor
