// spec.activeDeadlineSeconds: a job that takes longer fails. The time counts from status.startTime, which is reset when
// a suspended job resumes.
#pragma once

#include <optional>

#include "operator/reconcile/decide/policy.h"

namespace sailor {

// Applies once the deadline has passed. Marks the job as failed.
std::optional<PolicyResult> fail_job_past_deadline(const Observation& observation);

// Requests another decision at the deadline.
PolicyResult requeue_at_deadline(const Observation& observation);

}  // namespace sailor
