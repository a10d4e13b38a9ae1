#include "operator/reconcile/decide/usable_nodes.h"

#include <algorithm>

#include "operator/model/observation_queries.h"
#include "operator/reconcile/decide/quarantine.h"

namespace sailor {
namespace {

const PodView* pod_on(const Observation& observation, const NodeView& node) {
  const auto found = std::ranges::find_if(
      observation.pods, [&](const PodView& pod) { return pod.node == node.name && !pod.has_ended(); });
  return found == observation.pods.end() ? nullptr : &*found;
}

bool is_usable_pod(const Observation& observation, const PodView& pod, const NodeQuery& query) {
  if (!pod.is_ours || pod.is_deleting || pod.has_ended() || query.lost_pods.contains(pod.name)) return false;
  const AgentView* agent = find_agent(observation, pod);
  return query.scope != NodeScope::kSurvivors || (agent != nullptr && agent->answers());
}

// A node with a pod of the job offers the GPUs of that pod. A pod that is ending blocks the node until the pod is gone.
std::optional<UsableNode> with_pod(const Observation& observation, const NodeView& node, const PodView& pod,
                                   const NodeQuery& query) {
  if (!is_usable_pod(observation, pod, query)) return std::nullopt;
  return UsableNode{node.name, node.uid, node.pool, pod.gpus, pod.name};
}

std::optional<UsableNode> without_pod(const Observation& observation, const NodeView& node) {
  if (!node.is_ready || node.is_cordoned) return std::nullopt;
  const int others = node.used_by_others(observation.job.uid);
  if (others > 0 && observation.cluster.pools.at(node.pool).whole_nodes) return std::nullopt;
  if (others >= node.gpus) return std::nullopt;
  return UsableNode{node.name, node.uid, node.pool, node.gpus - others, ""};
}

void append_growth(const Observation& observation, std::vector<UsableNode>& nodes) {
  for (const auto& [key, pool] : observation.cluster.pools) {
    const auto existing = std::ranges::count(observation.cluster.nodes, key, &NodeView::pool);
    const int missing = pool.max_nodes.value_or(0) - static_cast<int>(existing);
    for (int i = 0; i < missing; ++i) nodes.push_back({"", "", key, pool.gpus_per_node, ""});
  }
}

}  // namespace

std::vector<UsableNode> usable_nodes(const Observation& observation, const NodeQuery& query) {
  std::vector<UsableNode> nodes;
  for (const NodeView& node : observation.cluster.nodes) {
    if (node.is_terminating || is_quarantined(observation, node)) continue;
    const PodView* pod = query.replaces_pods ? nullptr : pod_on(observation, node);
    if (pod == nullptr && query.scope == NodeScope::kSurvivors) continue;
    const auto candidate = pod != nullptr ? with_pod(observation, node, *pod, query) : without_pod(observation, node);
    if (candidate) nodes.push_back(*candidate);
  }
  if (query.scope == NodeScope::kGrowable) append_growth(observation, nodes);
  return nodes;
}

}  // namespace sailor
