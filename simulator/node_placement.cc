#include "simulator/node_placement.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "core/schedule/schedule.h"

namespace sailor {
namespace {

// The nodes of one pool: how many of each size are untouched, and what is left of those that were begun.
class Nodes {
 public:
  explicit Nodes(const Pool& pool) {
    for (const NodeGroup& group : pool.nodes) untouched_[group.free_gpus] += group.count;
  }

  // `next` numbers the nodes of all pools.
  int place(int gpus, int& next) {
    auto begun = begun_.lower_bound(gpus);
    int node = ReplicaTimes::kNoNic;
    int room = 0;
    if (begun != begun_.end()) {
      std::tie(room, node) = *begun;
      begun_.erase(begun);
    } else {
      const auto fresh = untouched_.lower_bound(gpus);
      if (fresh == untouched_.end()) return node;
      room = fresh->first;
      node = next++;
      if (--fresh->second == 0) untouched_.erase(fresh);
    }
    if (room > gpus) begun_.emplace(room - gpus, node);
    return node;
  }

 private:
  std::map<int, int> untouched_;   // nodes by free GPUs
  std::multimap<int, int> begun_;  // numbers by GPUs left
};

struct Placement {
  int stage = 0;
  int replica = 0;
  const Replica* needs = nullptr;
};

std::vector<Placement> seats_of(const Plan& plan) {
  std::vector<Placement> seats;
  for (int stage = 0; stage < std::ssize(plan.stages); ++stage) {
    const auto& replicas = plan.stages[static_cast<std::size_t>(stage)].replicas;
    for (int r = 0; r < std::ssize(replicas); ++r) seats.push_back({stage, r, &replicas[static_cast<std::size_t>(r)]});
  }
  std::ranges::stable_sort(seats, std::greater<>(), [](const Placement& seat) { return seat.needs->tensor_parallel; });
  return seats;
}

}  // namespace

std::vector<std::vector<int>> node_placement(const Plan& plan, const ClusterState& cluster) {
  std::map<PoolKey, Nodes> pools;
  for (const Pool& pool : cluster.pools) pools.emplace(pool.key, Nodes(pool));
  std::vector<std::vector<int>> nodes;
  for (const Stage& stage : plan.stages) nodes.emplace_back(stage.replicas.size(), ReplicaTimes::kNoNic);
  int next = 0;
  for (const Placement& seat : seats_of(plan)) {
    const auto pool = pools.find(seat.needs->pool);
    if (pool == pools.end()) continue;
    nodes[static_cast<std::size_t>(seat.stage)][static_cast<std::size_t>(seat.replica)] =
        pool->second.place(seat.needs->tensor_parallel, next);
  }
  return nodes;
}

}  // namespace sailor
