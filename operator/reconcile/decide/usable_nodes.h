// Which nodes a job may use now.
#pragma once

#include <set>
#include <vector>

#include "operator/model/observation.h"
#include "operator/reconcile/decide/placement.h"

namespace sailor {

enum class NodeScope {
  kSurvivors,  // nodes with a pod of the job that answers: nothing has to be started
  kExisting,   // all nodes that there are
  kGrowable,   // and those that a declared pool may be scaled up by
};

struct NodeQuery {
  NodeScope scope = NodeScope::kExisting;
  std::set<std::string> lost_pods;  // cannot be used though they may still be seen
  bool replaces_pods = false;       // all pods of the job are replaced, so their GPUs count as free
};

std::vector<UsableNode> usable_nodes(const Observation& observation, const NodeQuery& question);

}  // namespace sailor
