#include "planner/replan/group_placement.h"

#include <algorithm>
#include <functional>
#include <iterator>
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
    const std::map<PoolKey, int> used = gpus_by_pool(plan);
    for (auto first = used.begin(); first != used.end();) {
      const auto end =
          std::find_if_not(first, used.end(), [&](const auto& other) { return other.first.is_like(first->first); });
      keep_together(first, end);
      first = end;
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
  using Used = std::map<PoolKey, int>::const_iterator;

  // Sets the node of each of these pools, which differ in their grades only: one node for all of them if one holds all
  // that the plan uses of them, else one for each pool of which one node holds all.
  void keep_together(Used first, Used end) {
    const std::optional<std::vector<std::size_t>> together = rooms_together(first, end);
    for (std::size_t i = 0; first != end; ++first, ++i) {
      const auto whole = together ? std::optional((*together)[i]) : best(first->first, first->second);
      if (whole) node_of_pool_[first->first] = *whole;
    }
  }

  // Returns the rooms of several pools on the best node that holds all that the plan uses of them, if there is one. The
  // slowest GPUs are on the fewest nodes.
  [[nodiscard]] std::optional<std::vector<std::size_t>> rooms_together(Used first, Used end) const {
    std::optional<std::vector<std::size_t>> together;
    const auto slowest = nodes_of_pool_.find(std::prev(end)->first);
    if (std::next(first) == end || slowest == nodes_of_pool_.end()) return together;
    for (const std::size_t node : slowest->second) {
      auto rooms = rooms_on(nodes_[node].of_node, first, end);
      if (rooms && (!together || rank(rooms->front()) < rank(together->front()))) together = std::move(rooms);
    }
    return together;
  }

  // Returns the rooms of the pools on this node, or nothing if one of them lacks room for what the plan uses.
  [[nodiscard]] std::optional<std::vector<std::size_t>> rooms_on(std::size_t of_node, Used first, Used end) const {
    std::vector<std::size_t> rooms;
    for (; first != end; ++first) {
      const auto of_pool = nodes_of_pool_.find(first->first);
      if (of_pool == nodes_of_pool_.end()) return std::nullopt;
      const auto room = std::ranges::find_if(of_pool->second, [&](std::size_t node) {
        return nodes_[node].of_node == of_node && nodes_[node].gpus >= first->second;
      });
      if (room == of_pool->second.end()) return std::nullopt;
      rooms.push_back(*room);
    }
    return rooms;
  }

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
