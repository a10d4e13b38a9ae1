// Nodes some of whose GPUs compute more slowly than the others of their type. Their GPUs form pools of their speed
// grades, so a cluster has more pools than the user has made.
#pragma once

#include <vector>

#include "core/model/cluster_state.h"
#include "core/model/speed_grade.h"

namespace sailor {

// A GPU of this grade or above is offered by no pool: it is slower than any grade, or has failed.
inline constexpr int kUnusableGrade = kSlowestGrade + 1;

// Returns the pools of one node of `pool`, whose free GPUs have these grades. Each of them is like `pool` and offers
// the GPUs of one grade. No two pools take the same GPU.
std::vector<Pool> pools_of_node(const Pool& pool, const std::vector<int>& grades);

struct SlowNode {
  PoolKey pool;             // of grade 0
  std::vector<int> grades;  // of the slow GPUs; the other GPUs of the node have grade 0
};

// Moves the slow GPUs of each node to pools of their speed grades. All GPUs of the nodes must be free. Fails if a pool
// does not have so many of such nodes.
Result<ClusterState> with_slow_nodes(ClusterState cluster, const std::vector<SlowNode>& slow);

// Returns the cluster as if all GPUs of a node were as fast as its fastest one.
ClusterState with_equal_gpus(const ClusterState& cluster);

}  // namespace sailor
