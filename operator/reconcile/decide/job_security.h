// The credentials of a job's pods, and the NetworkPolicy around them: when the operator writes them.
#pragma once

#include "operator/reconcile/decide/policy.h"

namespace sailor {

// They are written before pods are created, and once a day after that. An agent tells when its credentials expire. They
// are also written while a pod does not start, because the kubelet waits for a Secret that somebody has deleted.
void secure_job(Decision& decision, const Observation& observation);

// Requests another decision when they may have to be written for a pod that does not start.
PolicyResult requeue_while_pods_wait(const Observation& observation);

}  // namespace sailor
