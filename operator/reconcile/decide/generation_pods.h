// Creates and deletes the pods of the newest generation.
#pragma once

#include "operator/reconcile/decide/policy.h"

namespace sailor {

// Creates a pod for each slot that has no pod, if the slot's node exists and is not about to be terminated, and if
// neither a stale pod nor a job of lower priority still uses its GPUs. After a failure, creates no pod before the
// restart delay has passed; after a refusal, not before it is time to try again.
void create_missing_pods(PolicyResult& result, const Observation& observation, const GenerationRecord& record);

// Deletes the pods that have ended and the stale pods (is_stale()). Keeps the members that have finished all steps, and
// with `keeps_ended_pods` all pods that have ended.
void remove_ended_and_stale_pods(PolicyResult& result, const Observation& observation, const GenerationRecord& record,
                                 bool keeps_ended_pods);

// Deletes the pods without a slot that wait for a new node, so that none is made for them.
void withdraw_requests_for_nodes(PolicyResult& result, const Observation& observation, const GenerationRecord& record);

// Deletes the pods without a slot. A member without a slot stays until its workers are released, the generation trains,
// or the time to save its state has passed.
void remove_unused_pods(PolicyResult& result, const Observation& observation, const GenerationRecord& record);

}  // namespace sailor
