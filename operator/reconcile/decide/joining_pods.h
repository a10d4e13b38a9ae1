// The policy that watches the joining pods of a voluntary change: the new pods that the newest generation waits for
// while the previous generation trains on.
#pragma once

#include <optional>

#include "operator/reconcile/decide/policy.h"

namespace sailor {

// Applies while GenerationRecord::running is set. Withdraws the change if a joining pod is refused, fails or does not
// start in time, or if the running generation is disrupted. The next decision then responds to that disruption. A
// change whose new nodes do not all come is replaced by a better one that does without them, if there is one.
std::optional<PolicyResult> watch_joining_pods(const Observation& observation);

}  // namespace sailor
