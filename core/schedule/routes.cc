#include "core/schedule/routes.h"

#include <algorithm>
#include <cstdint>
#include <functional>

namespace sailor {
namespace {

// A replica's next microbatch, due at numerator / (2 m) of the step. Fractions are compared exactly, so that all
// machines sort alike.
struct Turn {
  std::int64_t numerator = 0;
  std::int64_t microbatches = 1;
  int replica = 0;

  friend bool operator>(const Turn& a, const Turn& b) {
    const std::int64_t left = a.numerator * b.microbatches;
    const std::int64_t right = b.numerator * a.microbatches;
    return left != right ? left > right : a.replica > b.replica;
  }
};

}  // namespace

std::vector<int> make_route(std::span<const int> shares, RouteRule rule, int microbatches) {
  std::vector<Turn> next;  // one entry per replica; a heap with the earliest first
  next.reserve(shares.size());
  for (int r = 0; r < std::ssize(shares); ++r) {
    next.push_back({rule == RouteRule::kSpread ? 1 : 0, shares[static_cast<std::size_t>(r)], r});
  }
  std::ranges::make_heap(next, std::greater<>());
  std::vector<int> route;
  route.reserve(static_cast<std::size_t>(microbatches));
  while (std::ssize(route) < microbatches) {
    std::ranges::pop_heap(next, std::greater<>());
    route.push_back(next.back().replica);
    next.back().numerator += 2;
    std::ranges::push_heap(next, std::greater<>());
  }
  return route;
}

std::vector<std::vector<int>> make_routes(const Plan& plan, RouteRule rule) {
  std::vector<std::vector<int>> routes;
  routes.reserve(plan.stages.size());
  for (const Stage& stage : plan.stages) {
    std::vector<int> shares;
    shares.reserve(stage.replicas.size());
    for (const Replica& replica : stage.replicas) shares.push_back(replica.microbatches);
    routes.push_back(make_route(shares, rule, plan.microbatches()));
  }
  return routes;
}

}  // namespace sailor
