// Routes: which replica of each stage a microbatch goes through.
#pragma once

#include <span>
#include <vector>

#include "core/model/plan.h"

namespace sailor {

enum class RouteRule {
  kStart,   // a replica's k-th microbatch is due at (k - 1) / m of the step: all replicas begin at once
  kSpread,  // at (k - 1/2) / m: shares are interleaved as evenly as they can be
};

// The replicas of one stage that the step's first microbatches go through. Over all of them, which the shares sum up
// to, each replica gets its share.
std::vector<int> make_route(std::span<const int> shares, RouteRule rule, int microbatches);

// [stage][microbatch]: every replica gets exactly the microbatches that the plan gives it.
std::vector<std::vector<int>> make_routes(const Plan& plan, RouteRule rule);

}  // namespace sailor
