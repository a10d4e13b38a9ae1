// Routes: which replica of each stage a microbatch goes through.
#pragma once

#include <span>
#include <vector>

#include "planner/model/plan.h"

namespace sailor {

enum class RouteRule {
  kStart,   // a replica's k-th microbatch is due at (k - 1) / m of the step: all replicas begin at once
  kSpread,  // at (k - 1/2) / m: shares are interleaved as evenly as they can be
};

// By microbatch: the replica that it goes through, each replica as often as its share says.
std::vector<int> make_route(std::span<const int> shares, RouteRule rule);

// [stage][microbatch]: every replica gets exactly the microbatches that the plan gives it.
std::vector<std::vector<int>> make_routes(const Plan& plan, RouteRule rule);

}  // namespace sailor
