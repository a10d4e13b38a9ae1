// The start of a job.
#pragma once

#include <optional>

#include "operator/reconcile/decide/policy.h"

namespace sailor {

// Applies to a job without a record: plans it, or says what it waits for.
std::optional<PolicyResult> start_first_generation(const Observation& observation);

}  // namespace sailor
