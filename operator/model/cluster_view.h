// ClusterView: a snapshot of the nodes with GPUs and of the pools that they belong to. The observations of all jobs
// contain the same snapshot; each job then derives from it which nodes it may use (decide/usable_nodes.h).
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/manifest/manifest.h"
#include "core/model/cluster_state.h"
#include "core/model/compute_capability.h"
#include "operator/kube/object.h"
#include "operator/kube/time.h"
#include "operator/model/node_labels.h"
#include "operator/model/node_list.h"
#include "operator/model/pool_refusal.h"

namespace sailor {

// Pods of jobs that wait for a new node.
struct AwaitedNodes {
  int pods = 0;
  Time since;  // when the first of them was created
  friend bool operator==(const AwaitedNodes&, const AwaitedNodes&) = default;
};

// What a pod asks for that is to run on a new node.
struct NewNode {
  Labels labels;
  // The values of the label kubernetes.io/hostname that the node does not have, because existing nodes have them.
  std::vector<std::string> other_hosts = {};
};

struct ClusterView {
  NodeList nodes;                            // in ascending order of names
  std::map<PoolKey, PoolDeclaration> pools;  // declared by a GpuPool, or discovered from the labels of their nodes
  AcceleratorBook accelerators;              // if GpuPools disagree about an accelerator, the first one by name counts
  std::set<PoolKey> unpriced;  // pools without a GpuPool and without a known price; `nodes` omits their nodes
  std::set<PoolKey> of_unknown_accelerator;  // `nodes` and `pools` omit them
  std::set<PoolKey> without_kernels;         // the trainer's image cannot use their GPUs; `nodes` and `pools` omit them
  // The number of nodes that do not exist yet and that records claim, by the pool and the UID of the job.
  std::map<PoolKey, std::map<std::string, int>> claimed_growth;
  std::map<PoolKey, AwaitedNodes> awaited;
  std::map<PoolKey, PoolRefusal> refusals;  // of all jobs; of several of one pool, the one that holds for longest
  bool is_on_gke = true;                    // no node is known to be a machine of another cloud, or of none
  NodeUids node_uids;  // includes the nodes that `nodes` omits; a node whose UID is missing here is gone
  friend bool operator==(const ClusterView&, const ClusterView&) = default;

  [[nodiscard]] const NodeView* find_node(const std::string& name) const;
  // Returns by how many nodes the pool can grow now, without those that other jobs claim.
  [[nodiscard]] int growth_left(const PoolDeclaration& pool, const std::string& job_uid, Time now) const;
  // Returns the labels by which the autoscaler and the scheduler find a new node of the pool.
  [[nodiscard]] Labels labels_of_new_node(const PoolKey& pool) const;
  [[nodiscard]] NewNode new_node(const PoolKey& pool) const;
};

// GPUs that the record of an uncommitted generation claims on a node. The claim counts until the pod exists, so that no
// other job plans with the same GPUs. A claim on a node that does not exist does not count, and a claim takes at most
// the GPUs that the node has.
struct Claim {
  std::string job_uid;
  std::string node;  // empty: a node of the pool that does not exist yet
  std::string node_uid;
  int gpus = 0;
  PoolKey pool;
  friend bool operator==(const Claim&, const Claim&) = default;
};

struct ClusterObjects {
  std::vector<kube::Object> nodes;
  std::vector<kube::Object> gpu_pools;
  std::vector<kube::Object> pods;  // all pods that request GPUs, whether they belong to a job or not
  std::vector<Claim> claims;
  std::vector<PoolRefusal> refusals;
  ComputeCapability least_capability = {};  // for which the trainer's image has kernels; {}: for all
};

ClusterView cluster_view(const ClusterObjects& objects);

// The parts of cluster_view(), for those who follow the changes of some objects. view_of_nodes() reads only nodes and
// GpuPools; the other functions add pods, claims and refusals to its view.
ClusterView view_of_nodes(const ClusterObjects& objects);
// Replaces a node of such a view after a change. Returns false, and changes nothing, if the change may concern other
// parts of the view: the node is new, or has other GPUs or labels.
bool replace_node(ClusterView& view, const kube::Json& node);
// The GPUs that pods use on their node, by the UID of the job, as in NodeView::used.
std::map<std::string, int> gpus_used_by(const std::vector<kube::Object>& pods_of_a_node);
// A claim and its pod use the same GPUs, so the larger of the two numbers counts.
void add_claim(NodeView& node, const Claim& claim);
// Counts the pod if it has GPUs and waits for a new node of its pool. Other pods change nothing.
void count_awaited_node(std::map<PoolKey, AwaitedNodes>& awaited_of, const kube::Json& pod);
// Of two refusals of one pool, the one that holds for longer stays.
void add_refusal(std::map<PoolKey, PoolRefusal>& refusals, const PoolRefusal& refusal);

// The nodes of a pool that the view has, and their GPUs.
struct PoolUse {
  int ready_nodes = 0;
  int allocatable = 0;  // the GPUs of all nodes
  int used = 0;
  int free = 0;         // unused, on nodes that are ready and that nobody has cordoned or is about to terminate
  int terminating = 0;  // the GPUs of nodes that are about to be terminated
  friend bool operator==(const PoolUse&, const PoolUse&) = default;
};
// Has an entry for each pool of the view, also for one without nodes.
std::map<PoolKey, PoolUse> use_of_pools(const ClusterView& view);

// NodeView::takes_pods() of the node.
bool takes_pods(const kube::Json& node);
// Returns the node that a pod runs on, or is pinned to while it waits for the scheduler.
std::string node_of_pod(const kube::Json& pod);
// Returns the number of GPUs that a pod uses: 0 once it has ended.
int gpus_of_pod(const kube::Json& pod);
// Returns the number of GPUs that the containers of a pod request.
int gpus_asked_for(const kube::Json& pod_spec);

}  // namespace sailor
