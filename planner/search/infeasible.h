// Errors of a job for which no plan is feasible. Each error names one missed constraint and says by how much it is
// missed.
#pragma once

#include "planner/problem/goal.h"
#include "planner/search/search.h"

namespace sailor {

// Returns kNotFound if the accelerators of all pools that the job may use are unknown. Returns kInfeasible if the pools
// that the job may use have no free GPUs or fewer than minGpus. Returns kInvalidArgument if maxGpus is below minGpus.
// `usable` is the part of the cluster that the job may use.
Result<void> check_capacity(const JobSpec& job, const ClusterState& cluster, const ClusterState& usable);

// Names the first constraint that `nearest` misses, in the order memory, cost, throughput, minGpus. `nearest` is the
// plan that comes nearest to being feasible; it is null if the search was stopped before it saw any plan. `report`
// counts the plans that were tried. An error about memory says whether it is proved that no plan fits.
Error explain_infeasible(const PlanningProblem& problem, const PlanCandidate* nearest, const SearchReport& report);

}  // namespace sailor
