#include "planner/schedule/routes.h"

#include <algorithm>
#include <cstdint>
#include <numeric>

namespace sailor {
namespace {

// Due at numerator / (2 m) of the step; fractions are compared exactly, so that all machines sort alike.
struct Turn {
  std::int64_t numerator = 0;
  std::int64_t microbatches = 1;
  int replica = 0;

  friend bool operator<(const Turn& a, const Turn& b) {
    const std::int64_t left = a.numerator * b.microbatches;
    const std::int64_t right = b.numerator * a.microbatches;
    return left != right ? left < right : a.replica < b.replica;
  }
};

}  // namespace

std::vector<int> make_route(std::span<const int> shares, RouteRule rule) {
  std::vector<Turn> turns;
  turns.reserve(static_cast<std::size_t>(std::reduce(shares.begin(), shares.end())));
  for (int r = 0; r < std::ssize(shares); ++r) {
    const int share = shares[static_cast<std::size_t>(r)];
    for (int k = 0; k < share; ++k) turns.push_back({2 * k + (rule == RouteRule::kSpread ? 1 : 0), share, r});
  }
  std::ranges::sort(turns, std::less<>());
  std::vector<int> route;
  route.reserve(turns.size());
  for (const Turn& turn : turns) route.push_back(turn.replica);
  return route;
}

std::vector<std::vector<int>> make_routes(const Plan& plan, RouteRule rule) {
  std::vector<std::vector<int>> routes;
  routes.reserve(plan.stages.size());
  for (const Stage& stage : plan.stages) {
    std::vector<int> shares;
    for (const Replica& replica : stage.replicas) shares.push_back(replica.microbatches);
    routes.push_back(make_route(shares, rule));
  }
  return routes;
}

}  // namespace sailor
