// What follows from a failure of the trainer.
#pragma once

#include <optional>

#include "operator/reconcile/decide/policy.h"

namespace sailor {

// Applies to a failure that has not been counted yet. The failure of a joining pod says nothing about the job; any
// other failure counts against maxRestarts. The survivors continue at once; where there are none, or too few, the same
// pods are created again after a delay.
std::optional<PolicyResult> respond_to_trainer_failure(const Observation& observation);

}  // namespace sailor
