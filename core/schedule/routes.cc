#include "core/schedule/routes.h"

#include <algorithm>
#include <cstdint>
#include <functional>

namespace sailor {
namespace {

// Neighbouring replicas with equal shares, which always take their next microbatches together. These are due at
// numerator / (2 m) of the step. Fractions are compared exactly, so that all machines sort alike.
struct Turn {
  std::int64_t numerator = 0;
  std::int64_t microbatches = 1;
  int first = 0;  // replica
  int last = 0;

  friend bool operator>(const Turn& a, const Turn& b) {
    const std::int64_t left = a.numerator * b.microbatches;
    const std::int64_t right = b.numerator * a.microbatches;
    return left != right ? left > right : a.first > b.first;
  }
};

std::vector<Turn> first_turns(std::span<const int> shares, RouteRule rule) {
  std::vector<Turn> turns;
  for (int r = 0; r < std::ssize(shares); ++r) {
    const int share = shares[static_cast<std::size_t>(r)];
    if (turns.empty() || turns.back().microbatches != share) {
      turns.push_back({rule == RouteRule::kSpread ? 1 : 0, share, r, r});
    }
    ++turns.back().last;
  }
  return turns;
}

}  // namespace

std::vector<int> make_route(std::span<const int> shares, RouteRule rule, int microbatches) {
  std::vector<Turn> next = first_turns(shares, rule);  // a heap with the earliest first
  std::ranges::make_heap(next, std::greater<>());
  std::vector<int> route;
  route.reserve(static_cast<std::size_t>(microbatches));
  while (std::ssize(route) < microbatches) {
    std::ranges::pop_heap(next, std::greater<>());
    Turn& turn = next.back();
    const int last = std::min(turn.last, turn.first + microbatches - static_cast<int>(route.size()));
    for (int replica = turn.first; replica < last; ++replica) route.push_back(replica);
    turn.numerator += 2;
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
