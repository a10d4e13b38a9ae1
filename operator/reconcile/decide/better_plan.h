// The policy that moves a training job to a better plan.
#pragma once

#include <optional>

#include "operator/reconcile/decide/policy.h"

namespace sailor {

// Applies to a job that trains, unless its elasticity is Off. Asks the planner again after the cool-down, and changes
// the plan if the objective improves by enough to justify a rescale. With elasticity Restart the job restarts with new
// pods.
std::optional<PolicyResult> change_to_better_plan(const Observation& observation);

}  // namespace sailor
