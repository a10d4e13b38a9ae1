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

// Replicas of a group that share a node's network card, if the group fills node after node.
int PlanLinks::neighbours_of(const ReplicaGroup& group) const {
  const int gpus = cluster_.pools[static_cast<std::size_t>(group.pool)].gpus_per_node;
  return std::clamp(gpus / group.tensor_parallel, 1, group.count);
}

LinkTiming PlanLinks::timing(const ReplicaGroup& from, const ReplicaGroup& to, Bytes message) const {
  const Link& way = between(from.pool, to.pool);
  Seconds occupancy = way.occupancy(message);
  if (!is_inside_node(from.pool, to.pool)) {
    occupancy = std::max({occupancy, pools_.card(from.pool).occupancy(message) * neighbours_of(from),
                          pools_.card(to.pool).occupancy(message) * neighbours_of(to)});
  }
  return {way.latency.value(), occupancy.value()};
}

Ring PlanLinks::ring_of(const GroupedStage& stage) const {
  Ring ring{.members = stage.replicas(), .on_a_node = stage.replicas()};
  Seconds slowest(-1);
  const Bytes probe(1e6);
  for (const ReplicaGroup& a : stage.groups) {
    ring.tensor_parallel = std::max(ring.tensor_parallel, a.tensor_parallel);
    for (const ReplicaGroup& b : stage.groups) {
      const Link& way = pools_.between(a.pool, b.pool);
      if (way.transfer(probe) > slowest) ring.between = way;
      slowest = std::max(slowest, way.transfer(probe));
    }
    if (pools_.card(a.pool).occupancy(probe) > ring.card.occupancy(probe)) ring.card = pools_.card(a.pool);
    const bool is_one_node = is_inside_node(a.pool, a.pool) && a.count == ring.members;
    ring.on_a_node = std::min(ring.on_a_node, is_one_node ? a.count : neighbours_of(a));
    const Link& inside = pools_.inside_node(a.pool);
    if (ring.inside.bandwidth == BytesPerSecond(0) || inside.transfer(probe) > ring.inside.transfer(probe)) {
      ring.inside = inside;
    }
  }
  return ring;
}

}  // namespace sailor
