// Packs tensor-parallel groups into the nodes of a pool. A group never spans nodes.
#pragma once

#include <vector>

#include "core/model/cluster_state.h"

namespace sailor {

struct GroupsOfSize {
  int size = 1;  // GPUs of a group
  int count = 0;
};

struct PackedGroups {
  int left_over = 0;  // groups that did not fit
  int nodes_used = 0;
  std::vector<int> nodes_of_group;  // [i]: those of the pool's nodes[i]
};

// Places the largest groups first, each on the node with the fewest free GPUs that can hold it, used nodes first. The
// result is optimal if the sizes divide one another, as tensor-parallel sizes do in practice. A pool of whole nodes
// offers only nodes whose GPUs are all free.
PackedGroups pack_groups(const Pool& pool, const std::vector<GroupsOfSize>& groups);

}  // namespace sailor
