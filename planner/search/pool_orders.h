// Orders of pools: in which order, and from which of them, seeds take GPUs.
#pragma once

#include <vector>

#include "planner/problem/planning_problem.h"

namespace sailor {

// Pools of one region, in the order in which GPUs are taken.
using PoolBlock = std::vector<int>;

// One way to go through the pools, region after region.
using PoolOrder = std::vector<PoolBlock>;

std::vector<PoolOrder> pool_orders(const World& world);

}  // namespace sailor
