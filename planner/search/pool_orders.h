// Pool orders: from which pools, and in which order, seeds take GPUs.
#pragma once

#include <vector>

#include "planner/problem/planning_problem.h"

namespace sailor {

// Pools of one region, in the order in which their GPUs are taken.
using RegionPools = std::vector<int>;

// Region after region: replicas of one stage must not span two regions.
using PoolOrder = std::vector<RegionPools>;

// Orders over all GPU types, over the fastest few, over each type alone, and over each pool alone if there are at most
// eight; fastest first and slowest first; over each region alone, and over all regions: in every order if there are at
// most three, else the largest first and the smallest first. How fast a type is depends on the savings.
std::vector<PoolOrder> pool_orders(const PlanningProblem& problem, const MemorySavings& savings);

}  // namespace sailor
