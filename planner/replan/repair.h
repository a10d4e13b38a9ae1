// Repair: cuts a running plan down to the GPUs that are still available, and makes complete drafts from the rest.
#pragma once

#include <optional>

#include "planner/problem/draft.h"

namespace sailor {

// Returns the part of the running plan that the cluster can still run, as counts of replicas by stage, pool and
// tensor-parallel size. A stage that has lost all its replicas has no groups. Any GPU of a pool can take over the role
// of another one, so it does not matter which replicas were on the lost nodes. As long as a pool has too few GPUs, the
// function removes a replica from the stage that would still be the fastest without it.
Draft surviving_part(const Plan& running, const PlanningProblem& problem);

// Returns drafts in which the layers of each empty stage have moved to the stage before or after it. Returns the draft
// itself if no stage is empty, and nothing if the draft cannot be repaired: all stages are empty, or more than three
// are.
std::vector<Draft> repairs(const Draft& surviving);

// Returns drafts in which unused GPUs take the place of the replicas that the running plan has lost. They are mostly in
// smaller groups, and so get stages of their own, with layers in proportion to their speed: a stage for each group, or
// one for all that replace a group. The state of its layers may not fit on a slow GPU, so some of the drafts take none
// of them. Returns nothing if no GPU is unused.
std::vector<Draft> refills(const Plan& running, const Draft& surviving, const PlanningProblem& problem);

}  // namespace sailor
