// A job that is complete or has failed.
#pragma once

#include "operator/reconcile/decide/decision.h"

namespace sailor {

// Removes the pods that still run; the pods that have ended keep their logs. The job itself is deleted
// ttlSecondsAfterFinished after its end. Its status stays as it is.
Decision clean_up_ended_job(const Observation& observation);

}  // namespace sailor
