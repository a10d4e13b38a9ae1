// The policy that responds to a failure of the trainer.
#pragma once

#include <optional>

#include "operator/reconcile/decide/policy.h"

namespace sailor {

// Applies to a failure that has not been counted yet. The remaining pods continue at once if a plan fits them;
// otherwise the failed pod is created again after a delay. Each failure counts against maxRestarts, with one exception:
// the failure of a joining pod does not count if the remaining pods can continue without it.
std::optional<PolicyResult> respond_to_trainer_failure(const Observation& observation);

}  // namespace sailor
