// The new pods of a voluntary change, which the job waits for while it trains.
#pragma once

#include <optional>

#include "operator/reconcile/decide/policy.h"

namespace sailor {

// Applies while the newest generation waits for its pods and the generation before it trains. The change is withdrawn
// if the running generation is disrupted, which is then answered at once, or if a joining pod fails or is late.
std::optional<PolicyResult> watch_joining_pods(const Observation& observation);

}  // namespace sailor
