#include "simulator/node_placement.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "core/schedule/schedule.h"

namespace sailor {
namespace {

// The nodes of one pool: how many of each size are empty, and what is left of those that are partly filled.
class Nodes {
 public:
  explicit Nodes(const Pool& pool) {
    for (const NodeGroup& group : pool.nodes) empty_[group.free_gpus] += group.count;
  }

  // Begins with a node that holds all of this number of GPUs, if there is one.
  void keep_together(int gpus, int& next) {
    if (const auto whole = empty_.lower_bound(gpus); whole != empty_.end()) {
      partly_filled_.emplace(whole->first, next++);
      take(whole);
    }
  }

  // Returns the number of the node, or kNoNic. `next` is the next free number over all pools.
  int place(int gpus, int& next) {
    auto partly_filled = partly_filled_.lower_bound(gpus);
    int node = ReplicaTimes::kNoNic;
    int room = 0;
    if (partly_filled != partly_filled_.end()) {
      std::tie(room, node) = *partly_filled;
      partly_filled_.erase(partly_filled);
    } else {
      const auto fresh = empty_.lower_bound(gpus);
      if (fresh == empty_.end()) return node;
      room = fresh->first;
      node = next++;
      take(fresh);
    }
    if (room > gpus) partly_filled_.emplace(room - gpus, node);
    return node;
  }

 private:
  void take(std::map<int, int>::iterator empty) {
    if (--empty->second == 0) empty_.erase(empty);
  }

  std::map<int, int> empty_;               // the number of nodes for each number of free GPUs
  std::multimap<int, int> partly_filled_;  // node numbers by GPUs left
};

struct Placement {
  int stage = 0;
  int replica = 0;
  const Replica* needs = nullptr;
};

std::vector<Placement> placement_order(const Plan& plan) {
  std::vector<Placement> placements;
  for (int stage = 0; stage < std::ssize(plan.stages); ++stage) {
    const auto& replicas = plan.stages[static_cast<std::size_t>(stage)].replicas;
    for (int r = 0; r < std::ssize(replicas); ++r)
      placements.push_back({stage, r, &replicas[static_cast<std::size_t>(r)]});
  }
  std::ranges::stable_sort(placements, std::greater<>(),
                           [](const Placement& placement) { return placement.needs->tensor_parallel; });
  return placements;
}

}  // namespace

std::vector<std::vector<int>> node_placement(const Plan& plan, const ClusterState& cluster) {
  std::map<PoolKey, Nodes> pools;
  for (const Pool& pool : cluster.pools) pools.emplace(pool.key, Nodes(pool));
  std::vector<std::vector<int>> nodes;
  nodes.reserve(plan.stages.size());
  for (const Stage& stage : plan.stages) nodes.emplace_back(stage.replicas.size(), ReplicaTimes::kNoNic);
  int next = 0;
  for (const auto& [key, gpus] : gpus_by_pool(plan)) {
    if (const auto pool = pools.find(key); pool != pools.end()) pool->second.keep_together(gpus, next);
  }
  for (const Placement& placement : placement_order(plan)) {
    const auto pool = pools.find(placement.needs->pool);
    if (pool == pools.end()) continue;
    nodes[static_cast<std::size_t>(placement.stage)][static_cast<std::size_t>(placement.replica)] =
        pool->second.place(placement.needs->tensor_parallel, next);
  }
  return nodes;
}

}  // namespace sailor
