// Which nodes a job may use now.
#pragma once

#include <set>
#include <vector>

#include "operator/model/observation.h"
#include "operator/reconcile/decide/placement.h"

namespace sailor {

enum class NodeScope {
  kSurvivors,  // nodes with a pod of the job that answers: no pod has to be started
  kExisting,   // all existing nodes
  kGrowable,   // also the nodes by which declared pools may be scaled up
};

struct NodeQuery {
  NodeScope scope = NodeScope::kExisting;
  std::set<std::string> lost_pods;  // they cannot be used although they may still be observed
  bool replaces_pods = false;       // all pods of the job are replaced, so their GPUs count as free
};

std::vector<UsableNode> usable_nodes(const Observation& observation, const NodeQuery& query);

}  // namespace sailor
