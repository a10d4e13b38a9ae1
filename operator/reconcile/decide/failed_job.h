// The end of a job that cannot succeed any more.
#pragma once

#include <string>

#include "operator/reconcile/decide/policy.h"

namespace sailor {

// Removes the pods that still run, and sets all conditions.
PolicyResult fail_job(const Observation& observation, Reason reason, std::string message);

}  // namespace sailor
