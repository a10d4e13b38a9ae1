#include "planner/replay/held_state.h"

#include <algorithm>
#include <iterator>

#include "core/model/sort_unique.h"

namespace sailor {

HeldState::HeldState(const Plan& plan, const std::vector<PlacedGroup>& groups, const std::vector<int>& nodes,
                     const ClusterState& cluster)
    : remaining_(grouped(plan, cluster).value()) {
  std::vector<std::vector<int>> nodes_of_stages(plan.stages.size());
  std::vector<int> all;
  for (const PlacedGroup& group : groups) {
    const Replica& replica =
        plan.stages[static_cast<std::size_t>(group.stage)].replicas[static_cast<std::size_t>(group.replica)];
    const auto pool = std::ranges::find(cluster.pools, replica.pool, &Pool::key) - cluster.pools.begin();
    const int node = nodes[group.node];
    replicas_.push_back(
        {group.stage, {static_cast<int>(pool), replica.tensor_parallel, replica.microbatches, 1}, node});
    nodes_of_stages[static_cast<std::size_t>(group.stage)].push_back(node);
    all.push_back(node);
  }
  sort_unique(all);
  for (std::vector<int>& holders : nodes_of_stages) {
    if (plan.sharded_optimizer) {
      for (const int node : holders) add_part(plan, {node}, all);
    } else {
      sort_unique(holders);
      add_part(plan, holders, all);
    }
  }
}

// A peer replica is spread over the GPUs of all other nodes.
void HeldState::add_part(const Plan& plan, std::vector<int> holders, const std::vector<int>& all) {
  Part part{std::move(holders), {}, false};
  if (plan.peer_replicas && part.holders.size() == 1 && all.size() > 1) {
    std::ranges::set_difference(all, part.holders, std::back_inserter(part.backups));
    part.has_backup = true;
  }
  parts_.push_back(std::move(part));
}

void HeldState::keep_only(const std::vector<int>& nodes_there) {
  const auto is_lost = [&](int node) { return !std::ranges::binary_search(nodes_there, node); };
  for (Part& part : parts_) {
    std::erase_if(part.holders, is_lost);
    part.has_backup = part.has_backup && std::ranges::none_of(part.backups, is_lost);
  }
  for (const Held& held : replicas_) {
    if (!is_lost(held.node)) continue;
    ReplicaGroup lost = held.replica;
    lost.count = -1;
    remaining_.stages[static_cast<std::size_t>(held.stage)].add(lost);
  }
  std::erase_if(replicas_, [&](const Held& held) { return is_lost(held.node); });
}

bool HeldState::is_complete() const {
  return !parts_.empty() &&
         std::ranges::all_of(parts_, [](const Part& part) { return !part.holders.empty() || part.has_backup; });
}

}  // namespace sailor
