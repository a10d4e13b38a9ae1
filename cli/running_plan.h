// The plan that option --current names, as it runs if some nodes are slow.
#pragma once

#include <optional>
#include <vector>

#include "core/model/plan.h"
#include "core/model/slow_nodes.h"

namespace sailor::cli {

struct RunningPlan {
  Plan plan;             // in each pool's key, the grade of the slowest GPU of the group
  ClusterState cluster;  // PlanOptions::current_cluster
};

// Nobody has said which nodes the plan uses. They are assumed to be those that the operator would choose; of each pool,
// the first of them are slow, from their first GPU on. Returns nothing if the plan does not fit the cluster.
std::optional<RunningPlan> on_slow_nodes(const Plan& plan, const ClusterState& healthy,
                                         const std::vector<SlowNode>& slow);

}  // namespace sailor::cli
