// Split seeds: drafts made of the splits that are cheapest at prices of GPUs, rounded to whole replicas.
#pragma once

#include "planner/relaxation/gpu_prices.h"
#include "planner/search/seeds.h"

namespace sailor {

// Splits of several synchronisation times and every microbatch size, over the pools of each region, each with the
// shortest passes that its GPUs could make; only such as could be faster than `seconds`.
void visit_split_seeds(const World& world, std::span<const KindTable> tables, double seconds, const Visit& visit);

}  // namespace sailor
