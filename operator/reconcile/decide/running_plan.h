// The plan that a job trains by, as its GPUs are now.
#pragma once

#include <optional>
#include <vector>

#include "operator/reconcile/decide/placement.h"

namespace sailor {

struct RunningPlan {
  Plan plan;  // in each pool's key, the speed grade of the slowest GPU of the group
  // The cluster as the plan uses it (PlanOptions::current_cluster), if a group has GPUs of different grades.
  std::optional<ClusterState> cluster;
};

// `nodes` are those that the job may use. A group on another node keeps the grade that the plan names.
RunningPlan plan_as_it_runs(const Generation& generation, const std::vector<UsableNode>& nodes,
                            const ClusterView& view);

}  // namespace sailor
