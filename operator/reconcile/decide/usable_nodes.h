// Finds the nodes that a job may use now.
#pragma once

#include <set>
#include <vector>

#include "operator/model/observation.h"
#include "operator/reconcile/decide/competition.h"
#include "operator/reconcile/decide/placement.h"

namespace sailor {

enum class NodeScope {
  kSurvivors,  // the nodes with a pod of the job that answers; a plan for them needs no new pod
  kExisting,   // the existing nodes
  kGrowable,   // the existing nodes, and the nodes by which declared pools can grow
};

struct NodeQuery {
  NodeScope scope = NodeScope::kExisting;
  std::set<std::string> lost_pods;  // the names of pods that must not be used although they may still exist
  bool replaces_pods = false;       // all pods of the job will be replaced, so their GPUs count as free
  bool leaves_nodes = false;        // further nodes are left to jobs without GPUs (Competition::is_left_to_others)
  GpusByNode taken = {};            // the GPUs of other jobs that count as free
  bool ignores_quota = false;       // nodes beyond the job's quota count, too

  // The nodes for another plan of a job that trains.
  [[nodiscard]] static NodeQuery for_change(ElasticityMode mode) {
    return {.replaces_pods = mode == ElasticityMode::kRestart, .leaves_nodes = true};
  }
};

// Omits the nodes that are about to be terminated, quarantined, or fully used by other pods, and those whose GPUs a job
// of higher priority claims, and those beyond the job's quota (quota.h). A node without a pod of the job must also be
// ready and not cordoned, and its taints and labels must allow the pods of the job.
std::vector<UsableNode> usable_nodes(const Observation& observation, const NodeQuery& query);

}  // namespace sailor
