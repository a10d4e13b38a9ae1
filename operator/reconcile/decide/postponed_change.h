// A job that looks ahead postpones a change to a better plan that does not pay for its pause before nodes are expected
// to change again (planner/replan/look_ahead.h).
#pragma once

#include <optional>

#include "operator/reconcile/decide/policy.h"

namespace sailor {

// Returns what to do instead of the change to `better`, a plan that is clearly better than that of the record; nothing
// if the job changes now. A job whose plan misses a limit changes now.
std::optional<PolicyResult> postpone_change(const Observation& observation, const PlannedJob& better);

// Records that no better plan waits any more.
PolicyResult end_postponement(const Observation& observation);

}  // namespace sailor
