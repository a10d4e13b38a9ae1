#include "operator/reconcile/decide/placement.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>

#include <fmt/format.h>

#include "core/model/slow_nodes.h"
#include "operator/model/names.h"
#include "planner/replan/group_placement.h"

namespace sailor {
namespace {

// Returns the grade of each GPU of a node.
std::vector<int> grades_of(const UsableNode& node) {
  std::vector<int> grades(static_cast<std::size_t>(node.gpus), 0);
  for (const GpuOfGrade& slow : node.slow) grades.at(static_cast<std::size_t>(slow.gpu)) = slow.grade;
  return grades;
}

// Returns the order of a node's GPUs in which those of one grade are neighbours, from grade 0 on; empty: none is slow.
std::vector<int> gpu_order(const UsableNode& node) {
  if (node.slow.empty()) return {};
  const std::vector<int> grades = grades_of(node);
  std::vector<int> order(grades.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](int gpu) { return grades[static_cast<std::size_t>(gpu)]; });
  return order;
}

// The GPUs of one grade on a node.
struct Room {
  std::size_t node = 0;  // index into the usable nodes
  int first_place = 0;   // the place of the first of them in gpu_order()
  NodeRoom room;
};

// Prefers nodes with a pod of the job, then existing nodes.
std::vector<Room> rooms_of(const std::vector<UsableNode>& nodes) {
  std::vector<Room> rooms;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const UsableNode& node = nodes[i];
    const int preference = (node.pod.empty() ? 2 : 0) + (node.node.empty() ? 1 : 0);
    std::map<int, int> gpus_of_grade;
    for (const int grade : grades_of(node)) ++gpus_of_grade[grade];
    int place = 0;
    for (const auto& [grade, gpus] : gpus_of_grade) {
      rooms.push_back({i, place, {node.pool, gpus, preference, i}});
      rooms.back().room.pool.grade = grade;
      place += gpus;
    }
  }
  return rooms;
}

// Returns where the groups of the plan run. `slot` is an index into the usable nodes.
Result<std::vector<ReplicaPlacement>> place_on_nodes(const Plan& plan, const std::vector<UsableNode>& nodes) {
  const std::vector<Room> rooms = rooms_of(nodes);
  std::vector<NodeRoom> node_rooms;
  std::ranges::transform(rooms, std::back_inserter(node_rooms), &Room::room);
  const auto groups = place_groups(plan, node_rooms);
  if (!groups) return tl::unexpected(groups.error());
  std::vector<ReplicaPlacement> placements;
  for (const PlacedGroup& group : *groups) {
    const Room& room = rooms[group.node];
    placements.push_back({group.stage, group.replica, static_cast<int>(room.node), room.first_place + group.first_gpu});
  }
  return placements;
}

std::vector<int> used_gpus(const Plan& plan, const std::vector<ReplicaPlacement>& placements, std::size_t nodes) {
  std::vector<int> used(nodes, 0);
  for (const ReplicaPlacement& placed : placements) {
    const Stage& stage = plan.stages[static_cast<std::size_t>(placed.stage)];
    used[static_cast<std::size_t>(placed.slot)] +=
        stage.replicas[static_cast<std::size_t>(placed.replica)].tensor_parallel;
  }
  return used;
}

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
  Slot slot{candidate.pod, candidate.pool, candidate.node, candidate.node_uid, candidate.gpus, gpu_order(candidate)};
  if (!candidate.pod.empty()) return slot;  // an existing pod keeps the GPUs that it was created with
  slot.pod = free_slot_name(request.job, candidate.pool, taken);
  // A pod on a node with a slow GPU takes all GPUs, because it cannot choose which of them it gets.
  if (!takes_whole_nodes(request.view, candidate.pool) && candidate.slow.empty()) slot.gpus = used;
  return slot;
}

}  // namespace

ClusterState cluster_of(const std::vector<UsableNode>& usable_nodes, const ClusterView& view) {
  ClusterState cluster;
  for (const UsableNode& candidate : usable_nodes) {
    const auto known = view.pools.find(candidate.pool);
    if (known == view.pools.end()) continue;
    const PoolDeclaration& pool = known->second;
    const Pool whole{pool.key,           pool.region,      pool.gpus_per_node,        {},
                     pool.price_per_gpu, pool.whole_nodes, pool.inter_node_bandwidth, pool.node_lifetime};
    std::ranges::move(pools_of_node(whole, grades_of(candidate)), std::back_inserter(cluster.pools));
  }
  cluster.accelerators = view.accelerators;
  return normalized(std::move(cluster));
}

Result<Placement> place(const PlacementRequest& request) {
  auto replicas = place_on_nodes(request.plan, request.usable_nodes);
  if (!replicas) return tl::unexpected(std::move(replicas).error());
  const std::vector<int> used = used_gpus(request.plan, *replicas, request.usable_nodes.size());
  Placement placement;
  std::vector<int> slot_of(request.usable_nodes.size(), -1);
  std::set<std::string> taken = request.taken_names;
  for (std::size_t i = 0; i < request.usable_nodes.size(); ++i) {
    if (used[i] == 0) continue;
    slot_of[i] = static_cast<int>(placement.slots.size());
    placement.slots.push_back(slot_for(request.usable_nodes[i], used[i], request, taken));
  }
  for (ReplicaPlacement& placed : *replicas) placed.slot = slot_of[static_cast<std::size_t>(placed.slot)];
  std::ranges::sort(*replicas, {},
                    [](const ReplicaPlacement& placed) { return std::pair(placed.stage, placed.replica); });
  placement.replicas = *std::move(replicas);
  return placement;
}

}  // namespace sailor
