// The policy that starts a job.
#pragma once

#include <optional>

#include "operator/reconcile/decide/policy.h"

namespace sailor {

// Applies to a job without a record. Asks the planner and writes the first record, or says in the conditions why there
// is no plan yet.
std::optional<PolicyResult> start_first_generation(const Observation& observation);

}  // namespace sailor
