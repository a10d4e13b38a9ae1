#include "operator/reconcile/decide/plan_lookup.h"

#include <algorithm>
#include <cmath>
#include <ranges>

#include <fmt/format.h>

#include "operator/reconcile/decide/excluded_gpus.h"
#include "operator/reconcile/decide/job_outlook.h"
#include "operator/reconcile/decide/quota.h"
#include "operator/reconcile/decide/running_plan.h"

namespace sailor {

namespace {

constexpr auto kOvertakenPlansKeep = std::chrono::seconds(30);

// Returns whether a plan counts although the cluster has changed since the question. One that was overtaken does, or a
// job in a cluster that changes faster than the planner answers would wait for ever. So does one that the job looks at
// for the first time, if it does not train yet: many jobs that start at once would plan anew whenever one of them takes
// its GPUs.
bool outlives_change(const PlanAnswer& answer, Time now) {
  if (answer.is_new && !answer.question.current) return true;
  return answer.is_overtaken && now - answer.asked_at <= kOvertakenPlansKeep;
}

bool fits(const Plan& plan, const Observation& observation, const std::vector<UsableNode>& nodes) {
  return place({observation.job.key.name, plan, nodes, *observation.cluster, {}}).has_value();
}

// Returns the newest plan that the planner made for a cluster that has changed meanwhile, if it still fits the nodes.
const PlanAnswer* find_overtaken_plan(const Observation& observation, const PlanQuestion& question,
                                      const std::vector<UsableNode>& nodes) {
  for (const PlanAnswer& answer : std::views::reverse(observation.answers)) {
    if (!answer.result || !outlives_change(answer, observation.now)) continue;
    PlanQuestion same = answer.question;
    same.cluster = question.cluster;
    same.current_cluster = question.current_cluster;
    same.lifetime = question.lifetime;
    if (same == question && fits(answer.result->plan, observation, nodes)) return &answer;
  }
  return nullptr;
}

ClusterState allowed_part(const ClusterState& cluster, const ResourceSpec& resources) {
  ClusterState part = cluster;
  std::erase_if(part.pools, [&](const Pool& pool) { return !resources.allows(pool.key); });
  return part;
}

// Returns whether the answer that there is no plan, or none better than the present one, holds for this cluster too: no
// plan becomes better with fewer GPUs to choose from, or possible with others that the job may not use.
bool still_holds(const PlanAnswer& answer, const ClusterState& cluster) {
  const ClusterState& asked = answer.question.cluster;
  if (answer.result) return answer.result->keeps_current && contains(asked, cluster);
  const ResourceSpec& resources = answer.question.job.resources;
  return answer.result.error().code == ErrorCode::kInfeasible &&
         allowed_part(asked, resources) == allowed_part(cluster, resources);
}

// Returns an answer that still holds. Without it, all jobs would ask again whenever one of them takes a GPU. A plan
// that the job keeps must have its own GPUs: these may be among those that are not for the job any more.
const PlanAnswer* find_lasting_answer(const Observation& observation, const PlanQuestion& question,
                                      const std::vector<UsableNode>& nodes) {
  if (question.is_urgent) return nullptr;
  for (const PlanAnswer& answer : std::views::reverse(observation.answers)) {
    if (!still_holds(answer, question.cluster)) continue;
    PlanQuestion same = answer.question;
    same.cluster = question.cluster;
    if (same == question && (!answer.result || fits(answer.result->plan, observation, nodes))) return &answer;
  }
  return nullptr;
}

PlanLookup look_up(PlanQuestion question, const Observation& observation, const std::vector<UsableNode>& nodes) {
  const auto known = std::ranges::find(observation.answers, question, &PlanAnswer::question);
  if (known != observation.answers.end()) return {&*known, std::nullopt};
  if (const PlanAnswer* overtaken = find_overtaken_plan(observation, question, nodes)) return {overtaken, std::nullopt};
  if (const PlanAnswer* lasting = find_lasting_answer(observation, question, nodes)) return {lasting, std::nullopt};
  return {nullptr, std::move(question)};
}

bool exceeds_quota(const Observation& observation, const PlanLookup& lookup, const std::vector<UsableNode>& nodes) {
  if (find_queue(observation) == nullptr || !lookup.has_plan()) return false;
  const Plan& plan = lookup.answer->result->plan;
  const auto placement = place({observation.job.key.name, plan, nodes, *observation.cluster, {}});
  return placement && !is_within_quota(observation, *placement);
}

// Looks up a plan whose pods are within the quota of the job.
PlanLookup look_up_within_quota(PlanQuestion question, const Observation& observation, std::vector<UsableNode> nodes) {
  question.job = spec_within_quota(observation);
  PlanLookup lookup = look_up(question, observation, nodes);
  if (!exceeds_quota(observation, lookup, nodes)) return lookup;
  nodes = trimmed_to_quota(observation, std::move(nodes));
  question.cluster = cluster_of(nodes, *observation.cluster);
  return look_up(std::move(question), observation, nodes);
}

// Over how long a job that does not train spreads the pause of its next plan: until that plan is expected to change. It
// is rounded to a power of two, so that the question does not change all the time.
Seconds lifetime_of_next_plan(const Observation& observation, const std::vector<UsableNode>& nodes) {
  constexpr Seconds kLongest = PlanOptions().expected_lifetime;
  const auto outlook = JobOutlook::of(observation);
  if (!outlook) return kLongest;
  std::map<PoolKey, int> gpus;
  for (const UsableNode& node : nodes) gpus[node.pool] += node.gpus;
  const Seconds expected = outlook->time_until_change(gpus);
  return std::min(kLongest, Seconds(std::exp2(std::round(std::log2(expected.value())))));
}

}  // namespace

PlanLookup look_up_plan(const Observation& observation, const std::vector<UsableNode>& nodes,
                        const std::optional<Plan>& current, Urgency urgency) {
  PlanQuestion question{.cluster = cluster_of(nodes, *observation.cluster),
                        .current = current,
                        .profiles = observation.profiles,
                        .is_urgent = urgency == Urgency::kStopped};
  if (question.is_urgent) question.lifetime = lifetime_of_next_plan(observation, nodes);
  return look_up_within_quota(std::move(question), observation, nodes);
}

PlanLookup look_up_better_plan(const Observation& observation, const Generation& running, const NodeQuery& query) {
  const auto nodes = usable_nodes(observation, query);
  RunningPlan present = plan_as_it_runs(running, nodes, *observation.cluster);
  PlanQuestion question{.job = *observation.job.spec,
                        .cluster = cluster_of(nodes, *observation.cluster),
                        .current = std::move(present.plan),
                        .current_cluster = std::move(present.cluster),
                        .profiles = observation.profiles};
  return query.ignores_quota ? look_up(std::move(question), observation, nodes)
                             : look_up_within_quota(std::move(question), observation, nodes);
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

RemainingPlan look_up_remaining_plan(const Observation& observation, const std::set<std::string>& lost_pods,
                                     const std::optional<Plan>& current) {
  NodeQuery query{NodeScope::kSurvivors, lost_pods, false};
  const auto survivors = usable_nodes(observation, query);
  if (!survivors.empty()) {
    PlanLookup lookup = look_up_plan(observation, survivors, current, Urgency::kStopped);
    if (!lookup.has_no_plan()) return {query, std::move(lookup)};
  }
  query.scope = NodeScope::kExisting;
  return {query, look_up_plan_with_growth(observation, query, std::nullopt)};
}

PolicyResult ask_planner(const PlanLookup& lookup) {
  PolicyResult result;
  if (lookup.question) result.actions.emplace_back(AskPlanner{*lookup.question});
  return result;
}

Condition planning() { return no(Reason::kPlanning, "The planner is looking for the best plan."); }

Condition no_plan(const Observation& observation, const Error& error, const ClusterState& cluster) {
  const ResourceSpec& resources = observation.job.spec->resources;
  int free = 0;
  for (const Pool& pool : cluster.pools) free += resources.allows(pool.key) ? pool.free_gpus() : 0;
  const bool lacks_gpus = free < resources.min_gpus;
  const std::string excluded = excluded_gpus_text(observation);
  return no(lacks_gpus ? Reason::kWaitingForCapacity : Reason::kPlanInfeasible,
            fmt::format("{}{}{}", error.message, excluded.empty() ? "" : ". ", excluded));
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
