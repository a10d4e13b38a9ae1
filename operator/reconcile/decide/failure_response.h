// The policies that respond to failures of the trainer.
#pragma once

#include <optional>

#include "operator/reconcile/decide/policy.h"

namespace sailor {

// Applies to a failure that has not been counted yet. The remaining pods continue at once if a plan fits them;
// otherwise the failed pod is created again after a delay. Each failure counts against maxRestarts, with one exception:
// the failure of a joining pod does not count if the remaining pods can continue without it.
std::optional<PolicyResult> respond_to_trainer_failure(const Observation& observation);

// Applies to a failure that becomes known after the pod was left behind as unresponsive. The failure counts against
// maxRestarts, and the pod's node may be used again. The failure of a pod that never trained, because it was to join
// others, does not count, and its node is avoided as after any failure to join. The generation stays. Fails the job if
// maxRestarts is exceeded.
std::optional<PolicyResult> count_late_failure(const Observation& observation);

}  // namespace sailor
