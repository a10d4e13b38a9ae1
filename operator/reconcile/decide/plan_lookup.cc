#include "operator/reconcile/decide/plan_lookup.h"

#include <algorithm>

#include <fmt/format.h>

namespace sailor {

PlanLookup look_up_plan(const Observation& observation, const std::vector<UsableNode>& nodes,
                        const std::optional<Plan>& current, Urgency urgency) {
  PlanQuestion question{*observation.job.spec, cluster_of(nodes, observation.cluster), current, observation.profiles,
                        urgency == Urgency::kStopped};
  const auto known = std::ranges::find(observation.answers, question, &PlanAnswer::question);
  if (known != observation.answers.end()) return {&*known, std::nullopt};
  return {nullptr, std::move(question)};
}

PlanLookup look_up_plan_with_growth(const Observation& observation, const NodeQuery& query,
                                    const std::optional<Plan>& current) {
  PlanLookup lookup = look_up_plan(observation, usable_nodes(observation, query), current);
  if (!lookup.has_no_plan()) return lookup;
  NodeQuery wider = query;
  wider.scope = NodeScope::kGrowable;
  const auto nodes = usable_nodes(observation, wider);
  const bool grows = std::ranges::any_of(nodes, [](const UsableNode& node) { return node.node.empty(); });
  return grows ? look_up_plan(observation, nodes, current) : lookup;
}

PolicyResult ask_planner(const PlanLookup& lookup) {
  PolicyResult result;
  if (lookup.question) result.actions.emplace_back(AskPlanner{*lookup.question});
  return result;
}

Condition no_plan(const Observation& observation, const Error& error, const ClusterState& cluster) {
  const bool lacks_gpus = cluster.free_gpus() < observation.job.spec->resources.min_gpus;
  return no(lacks_gpus ? Reason::kWaitingForCapacity : Reason::kPlanInfeasible, error.message);
}

Condition no_plan(const Observation& observation, const PlanAnswer& answer) {
  return no_plan(observation, answer.result.error(), answer.question.cluster);
}

std::string gpus_text(const Plan& plan) {
  std::string text;
  for (const auto& [pool, gpus] : gpus_by_pool(plan))
    text += fmt::format("{}{} in {}", text.empty() ? "" : ", ", gpus, to_string(pool));
  return text;
}

}  // namespace sailor
