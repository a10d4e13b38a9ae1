// A better plan for a job that trains.
#pragma once

#include <optional>

#include "operator/reconcile/decide/policy.h"

namespace sailor {

// A voluntary change: only of a job that trains, only some time after the change before, and only if the objective
// gains enough to be worth moving a running job.
std::optional<PolicyResult> change_to_better_plan(const Observation& observation);

}  // namespace sailor
