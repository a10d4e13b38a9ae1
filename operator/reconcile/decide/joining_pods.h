// The policy that watches the joining pods of a voluntary change: the new pods that the newest generation waits for
// while the previous generation trains on.
#pragma once

#include <optional>

#include "operator/reconcile/decide/policy.h"

namespace sailor {

// Applies while GenerationRecord::running is set. Withdraws the change if a joining pod is refused, fails or does not
// start in time, if the running generation is disrupted, if the spec has changed, or if another job is to have the GPUs
// or the new nodes. The next decision then responds to that. A change whose new nodes do not all come is replaced by a
// better one that does without them, if there is one.
std::optional<PolicyResult> watch_joining_pods(const Observation& observation);

}  // namespace sailor
