#include "simulator/plan_links.h"

#include <algorithm>

namespace sailor {

PlanLinks::PlanLinks(const GroupedPlan& plan, const ClusterState& cluster, const PoolLinks& pools)
    : cluster_(cluster), pools_(pools), in_one_node_(cluster.pools.size()) {
  const std::vector<int> used = gpus_of_pools(plan, cluster.pools.size());
  for (std::size_t pool = 0; pool < used.size(); ++pool) {
    const auto& nodes = cluster.pools[pool].nodes;
    in_one_node_[pool] = static_cast<char>(!nodes.empty() && used[pool] <= nodes.front().free_gpus);
  }
}

// Returns how many replicas of the group share the NIC of a node, if the group fills one node after the other.
int PlanLinks::neighbours_of(const ReplicaGroup& group) const {
  const int gpus = cluster_.pools[static_cast<std::size_t>(group.pool)].gpus_per_node;
  return std::clamp(gpus / group.tensor_parallel, 1, group.count);
}

LinkTiming PlanLinks::timing(const ReplicaGroup& from, const ReplicaGroup& to, Bytes message) const {
  const Link& link = between(from.pool, to.pool);
  Seconds occupancy = link.occupancy(message);
  if (!is_inside_node(from.pool, to.pool)) {
    occupancy = std::max({occupancy, pools_.nic(from.pool).occupancy(message) * neighbours_of(from),
                          pools_.nic(to.pool).occupancy(message) * neighbours_of(to)});
  }
  return {link.latency.value(), occupancy.value()};
}

Ring PlanLinks::ring_of(const GroupedStage& stage) const {
  Ring ring{.members = stage.replicas(), .members_per_node = stage.replicas()};
  Seconds slowest(-1);
  Seconds slowest_inside(-1);
  Seconds slowest_nic(0);
  for (const ReplicaGroup& a : stage.groups) {
    ring.tensor_parallel = std::max(ring.tensor_parallel, a.tensor_parallel);
    for (const ReplicaGroup& b : stage.groups) {
      const Seconds probed = pools_.probed(a.pool, b.pool);
      if (probed > slowest) ring.between = pools_.between(a.pool, b.pool);
      slowest = std::max(slowest, probed);
    }
    if (pools_.probed_nic(a.pool) > slowest_nic) ring.nic = pools_.nic(a.pool);
    slowest_nic = std::max(slowest_nic, pools_.probed_nic(a.pool));
    const bool is_one_node = is_inside_node(a.pool, a.pool) && a.count == ring.members;
    ring.members_per_node = std::min(ring.members_per_node, is_one_node ? a.count : neighbours_of(a));
    if (pools_.probed_inside_node(a.pool) > slowest_inside) ring.inside = pools_.inside_node(a.pool);
    slowest_inside = std::max(slowest_inside, pools_.probed_inside_node(a.pool));
  }
  return ring;
}

}  // namespace sailor
