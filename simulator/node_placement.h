// Node placement: which replicas of a plan share a node, and therefore its NIC. A plan does not say which nodes it
// gets, so this function fills nodes as the operator does.
#pragma once

#include <vector>

#include "core/model/cluster_state.h"
#include "core/model/plan.h"

namespace sailor {

// Returns the number of the node of every replica, [stage][replica]. If all that the plan uses of a pool fits on one
// node, it goes to the smallest such node. Else places the largest groups first, then in the order of the plan: each on
// the partly filled node with the least room for it, else on the smallest empty one. Returns
// ReplicaTimes::kNoNic for a replica for which no node has room.
std::vector<std::vector<int>> node_placement(const Plan& plan, const ClusterState& cluster);

}  // namespace sailor
