// The pods of a generation: which are created, and which are removed.
#pragma once

#include "operator/reconcile/decide/policy.h"

namespace sailor {

// Creates a pod for each slot that has none and whose node is free. After a failure it waits for the restart delay.
void create_missing_pods(PolicyResult& result, const Observation& observation, const GenerationRecord& record);

// Removes pods that have ended, and, where the generation replaces all pods, those of earlier generations.
void remove_ended_and_stale_pods(PolicyResult& result, const Observation& observation, const GenerationRecord& record,
                                 bool keeps_ended_pods);

// Removes pods that no slot wants: at once if they have nothing to hand over, else when they are released or no longer
// needed.
void remove_unused_pods(PolicyResult& result, const Observation& observation, const GenerationRecord& record);

}  // namespace sailor
