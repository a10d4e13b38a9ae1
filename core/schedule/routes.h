// Routes: which replica of each stage processes which microbatch.
#pragma once

#include <span>
#include <vector>

#include "core/model/plan.h"

namespace sailor {

enum class RouteRule {
  kStart,   // a replica's k-th of m microbatches is due at (k - 1) / m of the step: all replicas start at once
  kSpread,  // it is due at (k - 1/2) / m of the step: the replicas take turns as evenly as possible
};

// The replica of one stage for each of the step's first `microbatches`. `shares` are the replicas' numbers of
// microbatches in the whole step; once `microbatches` is their sum, each replica gets exactly its share.
std::vector<int> make_route(std::span<const int> shares, RouteRule rule, int microbatches);

// The routes of all stages, [stage][microbatch]. Every replica gets as many microbatches as the plan gives it.
std::vector<std::vector<int>> make_routes(const Plan& plan, RouteRule rule);

}  // namespace sailor
