// What the planner says if no plan is feasible: the tightest constraint, and by how much it is missed.
#pragma once

#include "planner/problem/objective.h"
#include "planner/search/search.h"

namespace sailor {

// kInfeasible if the pools that the job may use have no free GPUs, or fewer than minGpus; kInvalidArgument if maxGpus
// is below minGpus. `usable`: the part of the cluster that the job may use.
Result<void> check_capacity(const JobSpec& job, const ClusterState& cluster, const ClusterState& usable);

// `nearest`: the plan that comes nearest to being feasible; null if the search was stopped before it saw any plan.
Error explain_infeasible(const PlanningProblem& problem, const PlanCandidate* nearest);

}  // namespace sailor
