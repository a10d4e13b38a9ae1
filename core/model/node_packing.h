// Packing: tensor-parallel groups into a pool's nodes, for a group never leaves a node.
#pragma once

#include <vector>

#include "core/model/cluster_state.h"

namespace sailor {

struct GroupsOfSize {
  int size = 1;  // GPUs of a group
  int count = 0;
};

struct Packing {
  int left_over = 0;  // groups that no node has room for
  int nodes_used = 0;
};

// Largest groups first, each into the fullest node that holds it. Exact where the sizes divide one another, as degrees
// of tensor parallelism do in practice. A pool of whole nodes lends only nodes of which all GPUs are free.
Packing pack_groups(const Pool& pool, const std::vector<GroupsOfSize>& groups);

}  // namespace sailor
