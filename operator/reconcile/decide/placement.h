// Placement: which replicas of a plan sit in which pods on which nodes.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "operator/model/cluster_view.h"
#include "operator/model/record.h"

namespace sailor {

// A node as far as one job may use it.
struct UsableNode {
  std::string node;  // empty: a node that would have to be made
  std::string node_uid;
  PoolKey pool;
  int gpus = 0;     // that the job may use there
  std::string pod;  // of this job, that lives there already and has `gpus` GPUs; empty: none
  friend bool operator==(const UsableNode&, const UsableNode&) = default;
};

ClusterState cluster_of(const std::vector<UsableNode>& usable_nodes, const ClusterView& view);

struct PlacementRequest {
  std::string job;  // name
  const Plan& plan;
  const std::vector<UsableNode>& usable_nodes;
  const ClusterView& view;            // for pools whose nodes are taken whole
  std::set<std::string> taken_names;  // of pods that exist or are still going
};

// Big groups first, each onto the node where it fits best; pods that exist are preferred. kInfeasible: a group finds no
// room, which happens only where groups of different size share nodes.
Result<Placement> place(const PlacementRequest& request);

}  // namespace sailor
