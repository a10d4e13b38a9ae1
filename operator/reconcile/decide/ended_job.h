// The cleanup of a job that is complete or has failed.
#pragma once

#include "operator/reconcile/decide/decision.h"

namespace sailor {

// Deletes the pods that still run, and keeps the pods that have ended for their logs. Deletes the job itself after
// spec.ttlSecondsAfterFinished. The status changes only if its workers have completed another checkpoint.
Decision clean_up_ended_job(const Observation& observation);

}  // namespace sailor
