// Assigns the tensor-parallel groups of a plan to nodes. The operator places pods by it, and `sailor replay` follows
// which node holds which part of the state.
#pragma once

#include <cstddef>
#include <vector>

#include "core/model/plan.h"

namespace sailor {

// The GPUs of one pool on a node.
struct NodeRoom {
  PoolKey pool;
  int gpus = 0;             // the number of GPUs that the job may use
  int preference = 0;       // nodes with a smaller number are used first
  std::size_t of_node = 0;  // rooms with the same number and pools that differ in their grades are on one node
};

struct PlacedGroup {
  int stage = 0;
  int replica = 0;
  std::size_t node = 0;  // index into the nodes
  int gpus = 0;
  int first_gpu = 0;  // the index, on its node, of the group's first GPU
};

// If all that the plan uses of a pool fits on one node, it goes to one node, because the planner counts on the fast
// links inside it. The same holds for the pools of a node with slow GPUs together. Else places large groups first, each
// on the node that is preferred, then in use already, then fits most tightly. Fails with kInfeasible if a group does
// not fit any node, which can happen only if groups of different sizes share nodes. The result is in the order of
// placement.
Result<std::vector<PlacedGroup>> place_groups(const Plan& plan, const std::vector<NodeRoom>& nodes);

}  // namespace sailor
