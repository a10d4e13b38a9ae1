#include "operator/model/cluster_view.h"

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "core/model/accelerator.h"
#include "core/model/size_limits.h"
#include "operator/model/names.h"
#include "operator/model/node_labels.h"

namespace sailor {
namespace {

using kube::Json;
using kube::list_at;
using kube::text_at;

// A device plugin may report any number, and numbers of GPUs are added up.
int gpu_quantity(const Json& resources) {
  return static_cast<int>(std::min<std::int64_t>(kube::count_at(resources, {kGpuResource}), kMostGpusOfANode));
}

int gpus_of_container(const Json& container) {
  const Json* limits = kube::find_at(container, {"resources", "limits"});
  return limits == nullptr ? 0 : gpu_quantity(*limits);
}

std::vector<Taint> taints_of(const Json& node) {
  std::vector<Taint> taints;
  for (const Json& taint : list_at(node, {"spec", "taints"})) {
    taints.push_back({text_at(taint, {"key"}), text_at(taint, {"value"}), text_at(taint, {"effect"})});
  }
  return taints;
}

std::shared_ptr<const std::map<std::string, std::string>> labels_of(const Json& node) {
  auto labels = std::make_shared<std::map<std::string, std::string>>();
  const Json* stated = kube::find_at(node, {"metadata", "labels"});
  if (stated == nullptr || !stated->is_object()) return labels;
  for (const auto& [name, value] : stated->items()) {
    if (value.is_string()) labels->emplace(name, value.get<std::string>());
  }
  return labels;
}

NodeView node_view(const Json& node) {
  NodeView view;
  view.name = kube::name_of(node);
  view.uid = kube::uid_of(node);
  view.pool = pool_of_node(node);
  if (const Json* allocatable = kube::find_at(node, {"status", "allocatable"})) view.gpus = gpu_quantity(*allocatable);
  view.is_cordoned = kube::bool_at(node, {"spec", "unschedulable"});
  view.labels = labels_of(node);
  view.taints = taints_of(node);
  view.is_terminating = kube::is_deleting(node) || std::ranges::any_of(view.taints, announces_termination, &Taint::key);
  for (const Json& condition : list_at(node, {"status", "conditions"})) {
    if (text_at(condition, {"type"}) == "Ready") view.is_ready = text_at(condition, {"status"}) == "True";
    const auto heartbeat = parse_rfc3339(text_at(condition, {"lastHeartbeatTime"}));
    view.heartbeat = std::max(view.heartbeat, heartbeat.value_or(Time()));
  }
  return view;
}

bool matches(const Json& node, const std::map<std::string, std::string>& selector) {
  return std::ranges::all_of(selector,
                             [&](const auto& label) { return kube::label_of(node, label.first) == label.second; });
}

// Describes an undeclared pool from the labels of one of its nodes. Returns nothing if the price of its GPUs is
// unknown, because a job must not use them then. The known list prices are Google Cloud's. A GpuPool can declare the
// price.
std::optional<PoolDeclaration> discovered(const NodeView& node, const Json& object) {
  const auto price = list_price(node.pool.accelerator, node.pool.provisioning);
  if (!price || is_outside_of_google_cloud(object)) return std::nullopt;
  PoolDeclaration pool;
  pool.name = to_string(node.pool);
  pool.key = node.pool;
  pool.region = region_of_node(object);
  pool.gpus_per_node = node.gpus;
  pool.price_per_gpu = *price;
  return pool;
}

// Returns whether the node belongs to a pool. Adds the pool to the view if the node is the first one of it.
bool joins_pool(const NodeView& node, const Json& object, const ComputeCapability& least, ClusterView& view) {
  if (lacks_kernels(node.pool.accelerator, least)) {
    view.without_kernels.insert(node.pool);
    return false;
  }
  if (view.of_unknown_accelerator.contains(node.pool)) return false;
  const auto known = view.pools.find(node.pool);
  if (known != view.pools.end()) return matches(object, known->second.node_selector);
  const auto pool = discovered(node, object);
  if (!pool) view.unpriced.insert(node.pool);
  if (view.accelerators.find(node.pool.accelerator) == nullptr) view.of_unknown_accelerator.insert(node.pool);
  if (pool) view.pools.emplace(node.pool, *pool);
  return pool.has_value();
}

void add_declared_pools(const ClusterObjects& objects, ClusterView& view) {
  std::vector<PoolDeclaration> declared;
  for (const kube::Object& object : objects.gpu_pools) {
    auto pool = pool_from_manifest(*object);
    if (!pool) continue;
    declared.push_back(*std::move(pool));
    if (const auto& gpu = declared.back().gpu) view.accelerators.add(*gpu);
  }
  for (const PoolDeclaration& pool : declared) {
    if (lacks_kernels(pool.key.accelerator, objects.least_capability)) {
      view.without_kernels.insert(pool.key);
    } else if (view.accelerators.find(pool.key.accelerator) == nullptr) {
      view.of_unknown_accelerator.insert(pool.key);
    } else {
      view.pools.emplace(pool.key, pool);
    }
  }
}

void count_pods(ClusterView& view, const std::vector<kube::Object>& pods) {
  std::map<std::string, std::vector<kube::Object>> by_node;
  for (const kube::Object& pod : pods) {
    by_node[node_of_pod(*pod)].push_back(pod);
    count_awaited_node(view.awaited, *pod);
  }
  for (const auto& [name, on_node] : by_node)
    view.nodes.change(name, [&](NodeView& node) { node.used = gpus_used_by(on_node); });
}

void add_claims(ClusterView& view, const std::vector<Claim>& claims) {
  for (const Claim& claim : claims) {
    if (claim.node.empty()) ++view.claimed_growth[claim.pool][claim.job_uid];
    view.nodes.change(claim.node, [&](NodeView& node) { add_claim(node, claim); });
  }
}

}  // namespace

const NodeView* ClusterView::find_node(const std::string& name) const { return nodes.find(name); }

std::string node_of_pod(const Json& pod) {
  const std::string bound = text_at(pod, {"spec", "nodeName"});
  return bound.empty() ? kube::annotation_of(pod, kNodeAnnotation) : bound;
}

int ClusterView::growth_left(const PoolDeclaration& pool, const std::string& job_uid, Time now) const {
  if (const auto refusal = refusals.find(pool.key); refusal != refusals.end() && refusal->second.holds(now)) return 0;
  std::int64_t left = pool.max_nodes.value_or(0);
  left -= std::ranges::count(nodes, pool.key, &NodeView::pool);
  if (const auto claims = claimed_growth.find(pool.key); claims != claimed_growth.end()) {
    for (const auto& [owner, count] : claims->second) left -= owner == job_uid ? 0 : count;
  }
  return static_cast<int>(std::max<std::int64_t>(left, 0));
}

Labels ClusterView::labels_of_new_node(const PoolKey& pool) const {
  const auto declared = pools.find(pool);
  return sailor::labels_of_new_node(pool, is_on_gke,
                                    declared == pools.end() ? Labels() : declared->second.node_selector);
}

NewNode ClusterView::new_node(const PoolKey& pool) const {
  NewNode node{labels_of_new_node(pool)};
  for (const NodeView& existing : nodes) {
    if (existing.pool != pool) continue;
    const std::string* host = existing.find_label(kHostnameLabel);
    node.other_hosts.push_back(host == nullptr ? existing.name : *host);
  }
  return node;
}

int gpus_asked_for(const Json& pod_spec) {
  int sum = 0;
  for (const Json& container : list_at(pod_spec, {"containers"})) sum += gpus_of_container(container);
  int most = 0;
  for (const Json& container : list_at(pod_spec, {"initContainers"}))
    most = std::max(most, gpus_of_container(container));
  return std::max(sum, most);
}

int gpus_of_pod(const Json& pod) {
  const std::string phase = text_at(pod, {"status", "phase"});
  const Json* spec = kube::find_at(pod, {"spec"});
  return phase == "Succeeded" || phase == "Failed" || spec == nullptr ? 0 : gpus_asked_for(*spec);
}

ClusterView view_of_nodes(const ClusterObjects& objects) {
  ClusterView view;
  std::set<std::string> uids;
  add_declared_pools(objects, view);
  for (const kube::Object& object : objects.nodes) {
    NodeView node = node_view(*object);
    uids.insert(node.uid);
    if (is_outside_of_google_cloud(*object)) view.is_on_gke = false;
    if (node.gpus == 0 || node.pool.accelerator.empty() || node.pool.zone.empty()) continue;
    if (joins_pool(node, *object, objects.least_capability, view)) view.nodes.push_back(std::move(node));
  }
  view.nodes.sort();
  view.node_uids = NodeUids(std::move(uids));
  return view;
}

bool replace_node(ClusterView& view, const Json& object) {
  const NodeView* held = view.nodes.find(kube::name_of(object));
  if (held == nullptr) return false;
  NodeView node = node_view(object);
  const bool is_alike =
      held->uid == node.uid && held->pool == node.pool && held->gpus == node.gpus && *held->labels == *node.labels;
  if (!is_alike) return false;
  node.used = held->used;
  node.labels = held->labels;
  node.terminating_since = held->terminating_since;
  return view.nodes.change(node.name, [&](NodeView& changed) { changed = std::move(node); });
}

std::map<std::string, int> gpus_used_by(const std::vector<kube::Object>& pods_of_a_node) {
  std::map<std::string, int> used;
  for (const kube::Object& pod : pods_of_a_node) {
    if (const int gpus = gpus_of_pod(*pod); gpus > 0) used[kube::label_of(*pod, kJobUidLabel)] += gpus;
  }
  return used;
}

void add_claim(NodeView& node, const Claim& claim) {
  if (node.uid != claim.node_uid) return;
  int& used = node.used[claim.job_uid];
  used = std::max(used, std::min(claim.gpus, node.gpus));
}

// A pod for a new node has the annotation of its pool, but none of a node.
void count_awaited_node(std::map<PoolKey, AwaitedNodes>& awaited_of, const Json& pod) {
  if (!node_of_pod(pod).empty() || gpus_of_pod(pod) == 0 || kube::is_deleting(pod)) return;
  const auto pool = parse_pool_key(kube::annotation_of(pod, kPoolAnnotation));
  if (!pool) return;
  AwaitedNodes& awaited = awaited_of[*pool];
  const Time created = kube::created_at(pod);
  awaited.since = awaited.pods == 0 ? created : std::min(awaited.since, created);
  ++awaited.pods;
}

void add_refusal(std::map<PoolKey, PoolRefusal>& refusals, const PoolRefusal& refusal) {
  const auto [known, is_new] = refusals.emplace(refusal.pool, refusal);
  if (!is_new && known->second.until < refusal.until) known->second = refusal;
}

ClusterView cluster_view(const ClusterObjects& objects) {
  ClusterView view = view_of_nodes(objects);
  count_pods(view, objects.pods);
  add_claims(view, objects.claims);
  for (const PoolRefusal& refusal : objects.refusals) add_refusal(view.refusals, refusal);
  return view;
}

std::map<PoolKey, PoolUse> use_of_pools(const ClusterView& view) {
  std::map<PoolKey, PoolUse> uses;
  for (const auto& [key, declaration] : view.pools) uses[key] = {};
  for (const NodeView& node : view.nodes) {
    PoolUse& use = uses[node.pool];
    const int used = node.used_gpus();
    use.ready_nodes += node.is_ready ? 1 : 0;
    use.allocatable += node.gpus;
    use.used += std::min(used, node.gpus);  // a claim may ask for GPUs that another job still uses
    if (node.is_terminating) use.terminating += node.gpus;
    if (node.takes_pods()) use.free += std::max(0, node.gpus - used);
  }
  return uses;
}

bool takes_pods(const Json& node) { return node_view(node).takes_pods(); }

}  // namespace sailor
