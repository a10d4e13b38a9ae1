#include "operator/reconcile/decide/usable_nodes.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "operator/model/observation_queries.h"
#include "operator/model/scheduling_rules.h"
#include "operator/reconcile/decide/quarantine.h"
#include "operator/reconcile/decide/quota.h"
#include "operator/reconcile/decide/slow_gpus.h"
#include "operator/render/pod.h"

namespace sailor {
namespace {

constexpr int kMostFutureGpus = 4096;  // in one pool, for a job without maxGpus

// Returns the first pod of the job on each node.
std::map<std::string_view, const PodView*> pods_by_node(const Observation& observation) {
  std::map<std::string_view, const PodView*> pods;
  for (const PodView& pod : observation.pods) {
    if (!pod.has_ended()) pods.emplace(pod.node, &pod);
  }
  return pods;
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

int gpus_left(const Observation& observation, const NodeView& node, const NodeQuery& query) {
  const auto taken = query.taken.find(node.name);
  return node.gpus - node.used_by_others(observation.job.uid) + (taken == query.taken.end() ? 0 : taken->second);
}

std::optional<UsableNode> without_pod(const Observation& observation, const NodeView& node,
                                      const SchedulingRules& rules, const NodeQuery& query) {
  if (!node.is_ready || node.is_cordoned || !rules.accept(node)) return std::nullopt;
  const int left = gpus_left(observation, node, query);
  if (left < node.gpus && observation.cluster->pools.at(node.pool).whole_nodes) return std::nullopt;
  return UsableNode{node.name, node.uid, node.pool, left, ""};
}

// Returns whether the job must not use the node although it has GPUs for it.
bool is_withheld(const Observation& observation, const Competition& competition, const NodeView& node,
                 const NodeQuery& query) {
  if (is_quarantined(observation, node) || competition.find_claimant(node) != nullptr) return true;
  const bool is_further = !node.used.contains(observation.job.uid);
  return is_further && query.leaves_nodes && competition.is_left_to_others(node);
}

// Returns how many nodes of a pool a plan of the job could use at most. A pool may be declared with a million nodes.
int most_useful_nodes(const JobSpec& job, const PoolDeclaration& pool) {
  const int gpus = job.resources.max_gpus.value_or(kMostFutureGpus);
  return std::max(1, std::min(gpus, kMostFutureGpus) / std::max(1, pool.gpus_per_node));
}

void append_growth(const Observation& observation, const SchedulingRules& rules, const Competition& competition,
                   const NodeQuery& query, std::vector<UsableNode>& nodes) {
  for (const auto& [key, pool] : observation.cluster->pools) {
    if (!rules.accept_future_node(observation.cluster->labels_of_new_node(key))) continue;
    if (query.leaves_nodes && competition.is_growth_left_to_others(key)) continue;
    const int left = observation.cluster->growth_left(pool, observation.job.uid, observation.now);
    const int count = std::min(left, most_useful_nodes(*observation.job.spec, pool));
    nodes.insert(nodes.end(), static_cast<std::size_t>(count), UsableNode{"", "", key, pool.gpus_per_node, ""});
  }
}

}  // namespace

std::vector<UsableNode> usable_nodes(const Observation& observation, const NodeQuery& query) {
  std::vector<UsableNode> nodes;
  const SchedulingRules rules(scheduling_spec(observation.job.pod_template));
  const Competition competition(observation);
  const auto pods = query.replaces_pods ? std::map<std::string_view, const PodView*>() : pods_by_node(observation);
  for (const NodeView& node : observation.cluster->nodes) {
    if (node.is_terminating) continue;
    const auto on_node = pods.find(node.name);
    const PodView* pod = on_node == pods.end() ? nullptr : on_node->second;
    if (pod == nullptr && query.scope == NodeScope::kSurvivors) continue;
    // Before what follows, which takes time: of a large cluster, most nodes are in use.
    if (pod == nullptr && gpus_left(observation, node, query) <= 0) continue;
    if (is_withheld(observation, competition, node, query)) continue;
    auto candidate =
        pod != nullptr ? with_pod(observation, node, *pod, query) : without_pod(observation, node, rules, query);
    if (!candidate) continue;
    candidate->slow = slow_gpus_of(observation, node, candidate->gpus);
    nodes.push_back(*std::move(candidate));
  }
  if (query.scope == NodeScope::kGrowable) append_growth(observation, rules, competition, query, nodes);
  return query.ignores_quota ? nodes : nodes_within_quota(observation, std::move(nodes));
}

}  // namespace sailor
