// Places the replicas of a plan on the nodes of a cluster as the operator does.
#pragma once

#include "operator/reconcile/decide/placement.h"

namespace sailor::cli {

// `job` names the pods.
Result<Placement> placed(const Plan& plan, const ClusterState& cluster, const std::string& job = "job");

}  // namespace sailor::cli
