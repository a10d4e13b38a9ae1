// What to say when no plan is feasible: the tightest constraint and by how much it is missed.
#pragma once

#include "planner/problem/objective.h"
#include "planner/search/search.h"

namespace sailor {

// No pool that the job may use has GPUs, or fewer than minGpus.
Result<void> check_capacity(const JobSpec& job, const ClusterState& cluster, const ClusterState& usable);

// `nearest` may be null.
Error explain_infeasible(const World& world, const Contender* nearest);

}  // namespace sailor
