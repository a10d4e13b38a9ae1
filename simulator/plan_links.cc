#include "simulator/plan_links.h"

#include <algorithm>

namespace sailor {

PlanLinks::PlanLinks(const GroupedPlan& plan, const ClusterState& cluster, const PoolLinks& pools)
    : cluster_(cluster),
      pools_(pools),
      node_of_pool_(pools.shared_nodes().node_of_each_pool(gpus_of_pools(plan, cluster.pools.size()))) {}

bool PlanLinks::is_in_one_node(const GroupedStage& stage) const {
  const int pool = stage.groups.front().pool;
  return std::ranges::all_of(stage.groups, [&](const ReplicaGroup& group) { return is_inside_node(pool, group.pool); });
}

// Returns how many replicas like those of the group share the NIC of a node, if they fill one node after the other. It
// does not matter how many microbatches they process, or how fast.
int PlanLinks::neighbours_of(const End& end) const {
  int alike = 0;
  for (const ReplicaGroup& other : end.stage.groups) {
    if (other.tensor_parallel != end.group.tensor_parallel) continue;
    const bool may_be_on_its_node =
        other.pool == end.group.pool || pools_.shared_nodes().share_a_node(other.pool, end.group.pool);
    if (may_be_on_its_node) alike += other.count;
  }
  const int gpus = cluster_.pools[static_cast<std::size_t>(end.group.pool)].gpus_per_node;
  return std::clamp(gpus / end.group.tensor_parallel, 1, alike);
}

LinkTiming PlanLinks::timing(const End& from, const End& to, Bytes message, const MessageRates& rates) const {
  const int from_pool = from.group.pool;
  const int to_pool = to.group.pool;
  const MessageEnd sender{from_pool, from.group.tensor_parallel};
  const MessageEnd receiver{to_pool, to.group.tensor_parallel};
  const bool is_inside = is_inside_node(from_pool, to_pool);
  Seconds occupancy =
      is_inside ? rates.inside_node(sender, receiver, message) : rates.between_nodes(sender, receiver, message);
  if (!is_inside) {
    const int senders = neighbours_of(from);
    const int receivers = neighbours_of(to);
    occupancy = std::max({occupancy, pools_.nic(from_pool).occupancy(message) * senders,
                          pools_.nic(to_pool).occupancy(message) * receivers,
                          pools_.path(from_pool, to_pool).occupancy(message) * std::max(senders, receivers)});
  }
  return {rates.latency(between(from_pool, to_pool)).value(), occupancy.value()};
}

Ring PlanLinks::ring_of(const GroupedStage& stage) const {
  Ring ring{.members = stage.replicas(), .members_per_node = stage.replicas()};
  if (const int zones = zones_of(stage, cluster_); zones > 1) ring.far_hops = zones;
  Seconds slowest(-1);
  Seconds slowest_inside(-1);
  Seconds slowest_nic(0);
  const bool is_one_node = is_in_one_node(stage);
  for (const ReplicaGroup& a : stage.groups) {
    ring.tensor_parallel = std::max(ring.tensor_parallel, a.tensor_parallel);
    for (const ReplicaGroup& b : stage.groups) {
      const Seconds probed = pools_.probed(a.pool, b.pool);
      if (probed > slowest) ring.between = pools_.between(a.pool, b.pool);
      slowest = std::max(slowest, probed);
    }
    if (pools_.probed_nic(a.pool) > slowest_nic) ring.nic = pools_.nic(a.pool);
    slowest_nic = std::max(slowest_nic, pools_.probed_nic(a.pool));
    ring.near_latency = std::max(ring.near_latency, pools_.between(a.pool, a.pool).latency);
    ring.members_per_node = std::min(ring.members_per_node, is_one_node ? ring.members : neighbours_of({stage, a}));
    if (pools_.probed_inside_node(a.pool) > slowest_inside) ring.inside = pools_.inside_node(a.pool);
    slowest_inside = std::max(slowest_inside, pools_.probed_inside_node(a.pool));
  }
  return ring;
}

}  // namespace sailor
