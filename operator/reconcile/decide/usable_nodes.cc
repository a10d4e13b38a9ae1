#include "operator/reconcile/decide/usable_nodes.h"

#include <algorithm>

#include "operator/reconcile/decide/disruption.h"
#include "operator/reconcile/decide/quarantine.h"

namespace sailor {
namespace {

const PodView* pod_on(const Observation& seen, const NodeView& node) {
  const auto found =
      std::ranges::find_if(seen.pods, [&](const PodView& pod) { return pod.node == node.name && !pod.has_ended(); });
  return found == seen.pods.end() ? nullptr : &*found;
}

bool is_usable_pod(const Observation& seen, const PodView& pod, const CapacityQuestion& question) {
  if (!pod.is_ours || pod.is_deleting || pod.has_ended() || question.lost_pods.contains(pod.name)) return false;
  const AgentView* agent = find_agent(seen, pod);
  return question.scope != Scope::kSurvivors || (agent != nullptr && agent->answers());
}

// A node with a pod of the job offers that pod's GPUs; a pod on its way out blocks the node until it is gone.
std::optional<Candidate> with_pod(const Observation& seen, const NodeView& node, const PodView& pod,
                                  const CapacityQuestion& question) {
  if (!is_usable_pod(seen, pod, question)) return std::nullopt;
  return Candidate{node.name, node.uid, node.pool, pod.gpus, pod.name};
}

std::optional<Candidate> without_pod(const Observation& seen, const NodeView& node) {
  if (!node.is_ready || node.is_cordoned) return std::nullopt;
  const int others = node.used_by_others(seen.job.uid);
  if (others > 0 && seen.cluster.pools.at(node.pool).whole_nodes) return std::nullopt;
  if (others >= node.gpus) return std::nullopt;
  return Candidate{node.name, node.uid, node.pool, node.gpus - others, ""};
}

void append_growth(const Observation& seen, std::vector<Candidate>& nodes) {
  for (const auto& [key, pool] : seen.cluster.pools) {
    const auto existing = std::ranges::count(seen.cluster.nodes, key, &NodeView::pool);
    const int missing = pool.max_nodes.value_or(0) - static_cast<int>(existing);
    for (int i = 0; i < missing; ++i) nodes.push_back({"", "", key, pool.gpus_per_node, ""});
  }
}

}  // namespace

std::vector<Candidate> candidates(const Observation& seen, const CapacityQuestion& question) {
  std::vector<Candidate> nodes;
  for (const NodeView& node : seen.cluster.nodes) {
    if (node.is_terminating || is_suspect(seen, node)) continue;
    const PodView* pod = question.replaces_pods ? nullptr : pod_on(seen, node);
    if (pod == nullptr && question.scope == Scope::kSurvivors) continue;
    const auto candidate = pod != nullptr ? with_pod(seen, node, *pod, question) : without_pod(seen, node);
    if (candidate) nodes.push_back(*candidate);
  }
  if (question.scope == Scope::kGrowable) append_growth(seen, nodes);
  return nodes;
}

}  // namespace sailor
