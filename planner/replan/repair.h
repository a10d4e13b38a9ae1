// Repair: what is left of a running plan after GPUs are gone, and drafts that make it whole again.
#pragma once

#include <optional>

#include "planner/problem/draft.h"

namespace sailor {

// The replicas of a running plan for which the cluster still has room, by pool and tensor-parallel size. Stages that
// have lost all their replicas are empty. It does not matter which replicas were on the lost nodes, because any GPU can
// take over another one's work: in each pool with too few GPUs left, the stages that wait longest for the others lose
// replicas.
Draft surviving_part(const Plan& running, const PlanningProblem& problem);

// The nearest drafts without an empty stage: the layers of each empty stage go to the stage before or after it.
std::vector<Draft> repairs(const Draft& surviving);

}  // namespace sailor
