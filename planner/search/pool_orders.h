// Pool orders: the pools from which seeds take GPUs, and the order in which they take them.
#pragma once

#include <vector>

#include "planner/problem/planning_problem.h"

namespace sailor {

// Pools of one region, in the order in which seeds take their GPUs. A pool is an index into ClusterState::pools.
using RegionPools = std::vector<int>;

// Seeds use up one region after the other, because the replicas of one stage must not span two regions.
using PoolOrder = std::vector<RegionPools>;

// Returns the orders that are worth trying. Each order combines three choices:
// * Pools: the pools of the fastest N GPU types for every N, of one GPU type, or one pool alone (only if there are at
//   most eight pools).
// * Order of pools within a region: the fastest first, or the slowest first. Speed depends on the techniques.
// * Order of regions: one region alone, or all regions. All regions are tried in every order if there are at most
//   three; otherwise with the largest first and with the smallest first.
std::vector<PoolOrder> pool_orders(const PlanningProblem& problem, const Techniques& techniques);

}  // namespace sailor
