// Quota: the GPUs that the queue of a job lets it use. A job in no queue has no limit.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "operator/model/observation.h"
#include "operator/reconcile/decide/placement.h"

namespace sailor {

// Returns the queue whose quota the job must heed; null: it is in none, or the operator does not use
// Kueue.
const QueueView* find_queue(const Observation& observation);

// Returns how many GPUs the Workloads of the job give it in all.
int quota_of(const QueueView& queue);

// Returns the spec of the job with at most as many GPUs as its quota.
JobSpec spec_within_quota(const Observation& observation);

// Returns the nodes of the flavors that the job has quota for. If it has quota for one flavor, these may have more GPUs
// than that: the planner chooses, and heeds the total (spec_within_quota). If it has quota for several, returns
// trimmed_to_quota().
std::vector<UsableNode> nodes_within_quota(const Observation& observation, std::vector<UsableNode> nodes);

// Returns of each flavor nodes with no more GPUs than the job has quota for, those of its own pods first. Whatever plan
// is placed on them is within the quota. On other nodes it might not be, because some pods have GPUs that the plan does
// not use.
std::vector<UsableNode> trimmed_to_quota(const Observation& observation, std::vector<UsableNode> nodes);

// Return whether the GPUs of a placement, or those of all pods of the job, are within its quota.
bool is_within_quota(const Observation& observation, const Placement& placement);
bool are_pods_within_quota(const Observation& observation);

// Returns how many GPUs of its quota, by flavor, the placement uses.
std::map<std::string, int> gpus_by_flavor(const Observation& observation, const Placement& placement);

}  // namespace sailor
