// Placement: assigns the replicas of a plan to pods, and the pods to nodes.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "operator/model/cluster_view.h"
#include "operator/model/record.h"

namespace sailor {

// A node that one job may use, whole or in part.
struct UsableNode {
  std::string node;  // empty: the autoscaler would have to create the node
  std::string node_uid;
  PoolKey pool;
  int gpus = 0;     // the number of GPUs that the job may use
  std::string pod;  // the pod of this job that runs on the node with `gpus` GPUs; empty: none
  friend bool operator==(const UsableNode&, const UsableNode&) = default;
};

// Returns the nodes in the form that the planner takes.
ClusterState cluster_of(const std::vector<UsableNode>& usable_nodes, const ClusterView& view);

struct PlacementRequest {
  std::string job;  // the name of the job
  const Plan& plan;
  const std::vector<UsableNode>& usable_nodes;
  const ClusterView& view;            // says in which pools a pod takes all GPUs of its node
  std::set<std::string> taken_names;  // the names of all existing pods, including those that are ending
};

// If all that the plan uses of a pool fits on one node, it goes to one node, because the planner counts on the fast
// links inside it. Else places large replicas first, each on the node where it fits best. Prefers nodes with a pod of
// the job. Fails with
// kInfeasible if a replica does not fit any node, which can happen only if replicas of different sizes share nodes.
Result<Placement> place(const PlacementRequest& request);

}  // namespace sailor
