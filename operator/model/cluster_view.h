// ClusterView: nodes with GPUs and declared pools as the API server has them. A value, the same for all jobs.
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
  bool is_ready = false;  // of its Ready condition
  bool is_cordoned = false;
  bool is_terminating = false;      // it has the taint of an impending termination, or is being deleted
  Time heartbeat;                   // the newest of its conditions
  std::map<std::string, int> used;  // GPUs by the job's UID; the key "" stands for all other pods
  friend bool operator==(const NodeView&, const NodeView&) = default;

  [[nodiscard]] int used_by_others(const std::string& job_uid) const;
};

struct ClusterView {
  std::vector<NodeView> nodes;               // ascending name
  std::map<PoolKey, PoolDeclaration> pools;  // declared, or discovered from their nodes' labels
  std::set<PoolKey> unpriced;                // neither declared nor with a list price: their nodes are not used
  std::set<std::string> node_uids;           // of all nodes, used or not: a node whose UID is missing here is gone
  friend bool operator==(const ClusterView&, const ClusterView&) = default;

  [[nodiscard]] const NodeView* find_node(const std::string& name) const;
};

// GPUs that a job's generation record claims on a node before its pod exists.
struct Claim {
  std::string job_uid;
  std::string node;
  int gpus = 0;
};

struct ClusterObjects {
  std::vector<kube::Object> nodes;
  std::vector<kube::Object> gpu_pools;
  std::vector<kube::Object> pods;  // of all kinds, that ask for GPUs
  std::vector<Claim> claims;
};

ClusterView cluster_view(const ClusterObjects& objects);

// Of a pod: what its containers ask for; a pod that has ended asks for nothing.
int gpus_of_pod(const kube::Json& pod);
int gpus_asked_for(const kube::Json& pod_spec);

}  // namespace sailor
