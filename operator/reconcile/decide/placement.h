// Placement: which replicas of a plan run in which pods on which nodes.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "operator/model/cluster_view.h"
#include "operator/model/record.h"

namespace sailor {

// A node as far as one job may use it.
struct UsableNode {
  std::string node;  // empty: a node that the autoscaler would have to create
  std::string node_uid;
  PoolKey pool;
  int gpus = 0;     // that the job may use there
  std::string pod;  // a pod of this job that exists there already and has `gpus` GPUs; empty: none
  friend bool operator==(const UsableNode&, const UsableNode&) = default;
};

ClusterState cluster_of(const std::vector<UsableNode>& usable_nodes, const ClusterView& view);

struct PlacementRequest {
  std::string job;  // name
  const Plan& plan;
  const std::vector<UsableNode>& usable_nodes;
  const ClusterView& view;            // for pools whose nodes are taken whole
  std::set<std::string> taken_names;  // of all existing pods, also those that are ending
};

// Places large replicas first, each on the node where it fits best, and prefers existing pods. kInfeasible: a replica
// does not fit anywhere, which happens only if replicas of different size share nodes.
Result<Placement> place(const PlacementRequest& request);

}  // namespace sailor
