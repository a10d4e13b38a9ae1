// spec.activeDeadlineSeconds: a job that runs for longer fails.
#pragma once

#include <optional>

#include "operator/reconcile/decide/policy.h"

namespace sailor {

std::optional<PolicyResult> fail_job_past_deadline(const Observation& observation);

// Requests another look at the deadline.
PolicyResult requeue_at_deadline(const Observation& observation);

}  // namespace sailor
