// Functions about a job in a queue of Kueue: what it asks the queue for, and what it gives back (model/workload.h).
#pragma once

#include <optional>
#include <vector>

#include "operator/reconcile/decide/policy.h"

namespace sailor {

// Returns a result that says in the condition Planned why the queue of the job gives it too few GPUs to start; nothing
// if it gives enough, or the job is in no queue.
std::optional<PolicyResult> await_quota(const Observation& observation);

// The policy for a job that trains, or has not started yet, and uses more GPUs than its queue gives it any more
// (give_up_gpus).
std::optional<PolicyResult> yield_to_queue(const Observation& observation);

// Adds to the result of all policies what the job writes into its Workloads:
//
// 1. A job that is suspended, or has left its queue, deletes them once its pods are gone.
// 2. A job without quota asks for as many GPUs as it may use, and for no fewer than its minGpus.
// 3. A job that trains, and has a clearly better plan with GPUs beyond its quota, asks for those with a further
// Workload.
// 4. GPUs that Kueue wants back are given back once the pods on them are gone.
// 5. GPUs that the best plan does not use are given back, also all of them if there is no plan for them.
void serve_queue(PolicyResult& result, const Observation& observation);

// Returns the actions that tell Kueue that an ended job needs no GPUs any more.
std::vector<Action> finish_workloads(const Observation& observation);

}  // namespace sailor
