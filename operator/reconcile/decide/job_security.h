// The credentials of a job's pods, and the NetworkPolicy around them: when the operator writes them.
#pragma once

#include "operator/reconcile/decide/decision.h"

namespace sailor {

// They are written before pods are created, and once a day after that. An agent tells when its credentials expire.
void secure_job(Decision& decision, const Observation& observation);

}  // namespace sailor
