// The result with which policies mark a job as failed.
#pragma once

#include <string>

#include "operator/reconcile/decide/policy.h"

namespace sailor {

// Returns a final result that deletes the pods that still run and sets all conditions, Failed with this message.
PolicyResult fail_job(const Observation& observation, Reason reason, std::string message);

}  // namespace sailor
