// PoolLinks: the link between the nodes of any two pools of a cluster.
#pragma once

#include <span>
#include <vector>

#include "planner/model/cluster_state.h"
#include "planner/model/network_model.h"

namespace sailor {

class PoolLinks {
 public:
  PoolLinks(const ClusterState& cluster, const NetworkModel& network);

  [[nodiscard]] const Link& between(int pool, int other) const {
    return links_[static_cast<std::size_t>(pool) * pools_ + static_cast<std::size_t>(other)];
  }
  [[nodiscard]] const Link& inside_node(int pool) const { return inside_nodes_[static_cast<std::size_t>(pool)]; }

 private:
  std::size_t pools_;
  std::vector<Link> links_;
  std::vector<Link> inside_nodes_;
};

// A ring over `members` in which every one ends with the sum of its part of `size`, sending n - 1 messages of size / n;
// the same the other way round gathers the parts. The slowest link sets the pace.
Seconds ring_reduce_scatter(Bytes size, int members, const Link& slowest);

// A ring over `members`: every one sends 2 (n - 1) messages of size / n. The slowest link sets the pace.
Seconds ring_all_reduce(Bytes size, int members, const Link& slowest);

}  // namespace sailor
