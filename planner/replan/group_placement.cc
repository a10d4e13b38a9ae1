#include "planner/replan/group_placement.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "core/model/counted.h"

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

// Fills the nodes with groups and counts the used GPUs of each node.
class Packing {
 public:
  Packing(const std::vector<NodeRoom>& nodes, const Plan& plan) : nodes_(nodes), used_(nodes.size(), 0) {
    for (std::size_t i = 0; i < nodes.size(); ++i) nodes_of_pool_[nodes[i].pool].push_back(i);
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

 private:
  [[nodiscard]] std::optional<std::size_t> best(const PoolKey& pool, int gpus) const {
    std::optional<std::size_t> best;
    const auto found = nodes_of_pool_.find(pool);
    if (found == nodes_of_pool_.end()) return best;
    for (const std::size_t node : found->second) {
      if (room(node) < gpus) continue;
      if (!best || rank(node) < rank(*best)) best = node;
    }
    return best;
  }
  [[nodiscard]] int room(std::size_t node) const { return nodes_[node].gpus - used_[node]; }
  [[nodiscard]] std::tuple<int, bool, int> rank(std::size_t node) const {
    return {nodes_[node].preference, used_[node] == 0, room(node)};
  }

  const std::vector<NodeRoom>& nodes_;
  std::vector<int> used_;
  std::map<PoolKey, std::vector<std::size_t>> nodes_of_pool_;
  std::map<PoolKey, std::size_t> node_of_pool_;  // pools of which one node holds all that the plan uses
};

}  // namespace

Result<std::vector<PlacedGroup>> place_groups(const Plan& plan, const std::vector<NodeRoom>& nodes) {
  Packing packing(nodes, plan);
  std::vector<PlacedGroup> placed;
  for (const Group& group : groups_of(plan)) {
    const auto node = packing.best(group);
    if (!node) {
      return fail(ErrorCode::kInfeasible,
                  fmt::format("placing stage {} replica {}: no node of {} has {} left", group.stage, group.replica,
                              to_string(group.pool), counted(group.gpus, "GPU")));
    }
    placed.push_back({group.stage, group.replica, *node, group.gpus, packing.take(*node, group.gpus)});
  }
  return placed;
}

}  // namespace sailor
