// SharedNodes: the mixed nodes of a cluster, of which several pools of different speed grades offer GPUs
// (core/model/slow_nodes.h).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/model/cluster_state.h"

namespace sailor {

class SharedNodes {
 public:
  // The nodes of a group of a pool that belong to a pool of a lower speed grade too.
  struct Group {
    std::size_t lower_pool = 0;
    std::size_t group = 0;          // index in the pool's nodes
    std::size_t same_in_lower = 0;  // index in the nodes of the lower pool
  };

  // The cluster must outlive it.
  explicit SharedNodes(const ClusterState& cluster);

  [[nodiscard]] std::span<const Group> of_pool(std::size_t pool) const { return groups_[pool]; }
  // Whether some node offers GPUs of both pools.
  [[nodiscard]] bool share_a_node(int a, int b) const;
  // Returns for each pool the node that holds all of `used`, its GPUs that a plan uses, as the number of the lowest of
  // the pools whose used GPUs are all on this node; kSeveralNodes if no node has so many of them.
  [[nodiscard]] std::vector<int> node_of_each_pool(const std::vector<int>& used) const;
  static constexpr int kSeveralNodes = -1;

 private:
  void join_pools_of_a_node(std::size_t lowest, const std::vector<int>& used, std::vector<int>& node_of_pool) const;

  const ClusterState& cluster_;
  std::vector<std::vector<Group>> groups_;  // one entry per pool
  bool has_any_ = false;
};

}  // namespace sailor
