// Node cards: which replicas of a plan share a network card. A plan does not say which nodes it gets; they are filled
// as the operator fills them.
#pragma once

#include <vector>

#include "core/model/cluster_state.h"
#include "core/model/plan.h"

namespace sailor {

// The number of its node for every replica, [stage][replica]: wider groups first, then in the order of the plan, on the
// begun node with the least room for it, else on the smallest other one. ReplicaTimes::kNoNic where no node has room.
std::vector<std::vector<int>> node_placement(const Plan& plan, const ClusterState& cluster);

}  // namespace sailor
