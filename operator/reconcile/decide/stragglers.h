// The policy that responds to GPUs that have got slower than the plan assumes.
#pragma once

#include <optional>

#include "operator/reconcile/decide/next_generation.h"
#include "operator/reconcile/decide/policy.h"

namespace sailor {

// Applies to a job that trains. Notes which GPUs are slow, also if its elasticity is Off. Else asks the planner for a
// plan with the GPUs as they are, and changes to it if its steps are shorter than those that are measured now, by
// enough to justify the rescale. When a GPU has recovered, change_to_better_plan() finds the better plan.
std::optional<PolicyResult> respond_to_stragglers(const Observation& observation);

// Returns why a better plan has become possible, if GPUs have got faster since the present plan was made.
std::optional<Cause> cause_of_faster_gpus(const Observation& observation);

}  // namespace sailor
