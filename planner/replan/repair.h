// Repair: what is left of a running plan, made whole again.
#pragma once

#include <optional>

#include "planner/problem/draft.h"

namespace sailor {

// The replicas of a running plan that the world still has room for, by pool and degree; stages that have lost all of
// theirs are empty. Which replicas were on the lost nodes is not asked, as any GPU can take over another's work: of
// each pool that has too few GPUs left, the stages that wait for the others most lose the replicas.
Draft what_is_left(const Plan& running, const World& world);

// The nearest drafts that leave no stage empty: the layers of those that are go to the stage before or after.
std::vector<Draft> repairs(const Draft& left);

}  // namespace sailor
