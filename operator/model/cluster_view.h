// ClusterView: a snapshot of the nodes with GPUs and of the pools that they belong to. The observations of all jobs
// contain the same snapshot; each job then derives from it which nodes it may use (decide/usable_nodes.h).
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/manifest/manifest.h"
#include "core/model/cluster_state.h"
#include "operator/kube/object.h"
#include "operator/kube/time.h"

namespace sailor {

struct NodeView {
  std::string name;
  std::string uid;
  PoolKey pool;
  int gpus = 0;           // allocatable
  bool is_ready = false;  // the Ready condition is True
  bool is_cordoned = false;
  bool is_terminating = false;  // the node has the taint of an impending termination, or is being deleted
  Time terminating_since;       // when the operator first saw that it is terminating
  Time heartbeat;               // the newest lastHeartbeatTime of the node's conditions
  // The number of GPUs in use, by the UID of the job. The key "" stands for all pods that do not belong to a job. The
  // number for a job includes the GPUs that its record claims.
  std::map<std::string, int> used;
  friend bool operator==(const NodeView&, const NodeView&) = default;

  [[nodiscard]] int used_by_others(const std::string& job_uid) const;
};

struct ClusterView {
  std::vector<NodeView> nodes;               // in ascending order of names
  std::map<PoolKey, PoolDeclaration> pools;  // declared by a GpuPool, or discovered from the labels of their nodes
  AcceleratorBook accelerators;              // if GpuPools disagree about an accelerator, the first one by name counts
  std::set<PoolKey> unpriced;  // pools without a GpuPool and without a list price; `nodes` omits their nodes
  std::set<PoolKey> of_unknown_accelerator;  // `nodes` and `pools` omit them
  std::set<std::string> node_uids;  // includes the nodes that `nodes` omits; a node whose UID is missing here is gone
  friend bool operator==(const ClusterView&, const ClusterView&) = default;

  [[nodiscard]] const NodeView* find_node(const std::string& name) const;
};

// GPUs that the record of an uncommitted generation claims on a node. The claim counts until the pod exists, so that no
// other job plans with the same GPUs.
struct Claim {
  std::string job_uid;
  std::string node;
  int gpus = 0;
};

struct ClusterObjects {
  std::vector<kube::Object> nodes;
  std::vector<kube::Object> gpu_pools;
  std::vector<kube::Object> pods;  // all pods that request GPUs, whether they belong to a job or not
  std::vector<Claim> claims;
};

ClusterView cluster_view(const ClusterObjects& objects);

// Returns the number of GPUs that a pod uses: 0 once it has ended.
int gpus_of_pod(const kube::Json& pod);
// Returns the number of GPUs that the containers of a pod request.
int gpus_asked_for(const kube::Json& pod_spec);

}  // namespace sailor
