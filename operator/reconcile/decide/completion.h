// The end of a job that has done all its steps.
#pragma once

#include <optional>

#include "operator/reconcile/decide/policy.h"

namespace sailor {

// Applies once every pod of the generation has ended, and one of them has reported that all steps are done.
std::optional<PolicyResult> complete_job(const Observation& observation);

// Applies once a worker has reported that all steps are done: the others finish too, and agents leave one after the
// other.
std::optional<PolicyResult> await_end_of_pods(const Observation& observation);

}  // namespace sailor
