#include "operator/reconcile/decide/placement.h"

#include <algorithm>
#include <map>
#include <numeric>

#include <fmt/format.h>

#include "operator/model/names.h"

namespace sailor {
namespace {

struct Group {
  int stage = 0;
  int replica = 0;
  PoolKey pool;
  int gpus = 0;
};

std::vector<Group> groups_of(const Plan& plan) {
  std::vector<Group> groups;
  for (int stage = 0; stage < std::ssize(plan.stages); ++stage) {
    const auto& replicas = plan.stages[static_cast<std::size_t>(stage)].replicas;
    for (int replica = 0; replica < std::ssize(replicas); ++replica) {
      const Replica& here = replicas[static_cast<std::size_t>(replica)];
      groups.push_back({stage, replica, here.pool, here.tensor_parallel});
    }
  }
  std::ranges::stable_sort(groups, std::greater<>{}, &Group::gpus);
  return groups;
}

// Fills the nodes with replicas and counts the used GPUs of each node.
class Packing {
 public:
  Packing(const std::vector<UsableNode>& usable_nodes, const Plan& plan)
      : nodes_(usable_nodes), used_(usable_nodes.size(), 0) {
    for (const auto& [pool, gpus] : gpus_by_pool(plan)) {
      if (const auto whole = best(pool, gpus)) node_of_pool_[pool] = *whole;
    }
  }

  // Returns the index of the best node for a group.
  [[nodiscard]] std::optional<std::size_t> best(const Group& group) const {
    const auto whole = node_of_pool_.find(group.pool);
    return whole == node_of_pool_.end() ? best(group.pool, group.gpus) : whole->second;
  }
  // Takes GPUs of the node and returns the index of the first one.
  int take(std::size_t node, int gpus) { return std::exchange(used_[node], used_[node] + gpus); }
  [[nodiscard]] int used(std::size_t node) const { return used_[node]; }

 private:
  // Prefers a node with a pod, then an existing node, then a node that is in use already, then the tightest fit, then
  // the first node.
  [[nodiscard]] std::optional<std::size_t> best(const PoolKey& pool, int gpus) const {
    std::optional<std::size_t> best;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (nodes_[i].pool != pool || room(i) < gpus) continue;
      if (!best || rank(i) < rank(*best)) best = i;
    }
    return best;
  }
  [[nodiscard]] int room(std::size_t node) const { return nodes_[node].gpus - used_[node]; }
  [[nodiscard]] std::tuple<bool, bool, bool, int> rank(std::size_t node) const {
    const UsableNode& candidate = nodes_[node];
    return {candidate.pod.empty(), candidate.node.empty(), used_[node] == 0, room(node)};
  }

  const std::vector<UsableNode>& nodes_;
  std::vector<int> used_;
  std::map<PoolKey, std::size_t> node_of_pool_;  // pools of which one node holds all that the plan uses
};

bool takes_whole_nodes(const ClusterView& view, const PoolKey& key) {
  const auto pool = view.pools.find(key);
  return pool != view.pools.end() && pool->second.whole_nodes;
}

std::string free_slot_name(const std::string& job, const PoolKey& pool, std::set<std::string>& taken) {
  for (int slot = 0;; ++slot) {
    std::string name = slot_name(job, pool, slot);
    if (taken.insert(name).second) return name;
  }
}

Slot slot_for(const UsableNode& candidate, int used, const PlacementRequest& request, std::set<std::string>& taken) {
  Slot slot{candidate.pod, candidate.pool, candidate.node, candidate.node_uid, candidate.gpus};
  if (!candidate.pod.empty()) return slot;  // an existing pod keeps the GPUs that it was created with
  slot.pod = free_slot_name(request.job, candidate.pool, taken);
  if (!takes_whole_nodes(request.view, candidate.pool)) slot.gpus = used;
  return slot;
}

}  // namespace

ClusterState cluster_of(const std::vector<UsableNode>& usable_nodes, const ClusterView& view) {
  ClusterState cluster;
  for (const UsableNode& candidate : usable_nodes) {
    const auto known = view.pools.find(candidate.pool);
    if (known == view.pools.end()) continue;
    const PoolDeclaration& pool = known->second;
    cluster.pools.push_back({pool.key,
                             pool.region,
                             pool.gpus_per_node,
                             {{candidate.gpus, 1}},
                             pool.price_per_gpu,
                             pool.whole_nodes,
                             pool.inter_node_bandwidth,
                             pool.node_lifetime});
  }
  cluster.accelerators = view.accelerators;
  return normalized(std::move(cluster));
}

Result<Placement> place(const PlacementRequest& request) {
  Packing packing(request.usable_nodes, request.plan);
  std::vector<ReplicaPlacement> replica_placements;  // at first, `slot` is an index into usable_nodes
  for (const Group& group : groups_of(request.plan)) {
    const auto node = packing.best(group);
    if (!node) {
      return fail(ErrorCode::kInfeasible, fmt::format("placing stage {} replica {}: no node of {} has {} GPUs left",
                                                      group.stage, group.replica, to_string(group.pool), group.gpus));
    }
    replica_placements.push_back(
        {group.stage, group.replica, static_cast<int>(*node), packing.take(*node, group.gpus)});
  }
  Placement placement;
  std::vector<int> slot_of(request.usable_nodes.size(), -1);
  std::set<std::string> taken = request.taken_names;
  for (std::size_t i = 0; i < request.usable_nodes.size(); ++i) {
    if (packing.used(i) == 0) continue;
    slot_of[i] = static_cast<int>(placement.slots.size());
    placement.slots.push_back(slot_for(request.usable_nodes[i], packing.used(i), request, taken));
  }
  for (ReplicaPlacement& placed : replica_placements) placed.slot = slot_of[static_cast<std::size_t>(placed.slot)];
  std::ranges::sort(replica_placements, {},
                    [](const ReplicaPlacement& placed) { return std::pair(placed.stage, placed.replica); });
  placement.replicas = std::move(replica_placements);
  return placement;
}

}  // namespace sailor
