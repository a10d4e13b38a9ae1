// Placement: assigns the replicas of a plan to pods, and the pods to nodes.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "operator/model/cluster_view.h"
#include "operator/model/record.h"

namespace sailor {

// A slow GPU of a usable node.
struct GpuOfGrade {
  int gpu = 0;    // its index in the pod on the node
  int grade = 0;  // core/model/speed_grade.h; above kSlowestGrade: the job does not use it
  friend bool operator==(const GpuOfGrade&, const GpuOfGrade&) = default;
};

// A node that one job may use, whole or in part.
struct UsableNode {
  std::string node;  // empty: the autoscaler would have to create the node
  std::string node_uid;
  PoolKey pool;
  int gpus = 0;                       // the number of GPUs that the job may use
  std::string pod;                    // the pod of this job that runs on the node with `gpus` GPUs; empty: none
  std::vector<GpuOfGrade> slow = {};  // those of the GPUs that are slow, in ascending order
  friend bool operator==(const UsableNode&, const UsableNode&) = default;
};

// Returns the nodes in the form that the planner takes. The slow GPUs of a node belong to pools of their grades.
ClusterState cluster_of(const std::vector<UsableNode>& usable_nodes, const ClusterView& view);

struct PlacementRequest {
  std::string job;  // the name of the job
  const Plan& plan;
  const std::vector<UsableNode>& usable_nodes;
  const ClusterView& view;            // says in which pools a pod takes all GPUs of its node
  std::set<std::string> taken_names;  // the names of all existing pods, including those that are ending
};

// Places the replicas by place_groups(), which also says when it fails. Prefers nodes with a pod of the job. A node
// with slow GPUs offers those of each grade as the pool of that grade.
Result<Placement> place(const PlacementRequest& request);

}  // namespace sailor
