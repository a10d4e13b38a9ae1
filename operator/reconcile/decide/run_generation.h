// Drives the newest generation forward: creates its pods, commits its membership and sends its assignments.
#pragma once

#include "operator/reconcile/decide/policy.h"

namespace sailor {

// decide() calls it after the policies. `record` is the newest record, including the one that a policy has just made.
// `keeps_ended_pods` is PolicyResult::keeps_ended_pods.
PolicyResult run_generation(const Observation& observation, const GenerationRecord& record, bool keeps_ended_pods);

}  // namespace sailor
