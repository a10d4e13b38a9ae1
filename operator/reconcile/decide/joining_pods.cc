#include "operator/reconcile/decide/joining_pods.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "operator/model/observation_queries.h"
#include "operator/reconcile/decide/better_plan.h"
#include "operator/reconcile/decide/competition.h"
#include "operator/reconcile/decide/disruption.h"
#include "operator/reconcile/decide/new_nodes.h"
#include "operator/reconcile/decide/next_generation.h"
#include "operator/reconcile/decide/quarantine.h"
#include "operator/reconcile/decide/trainer_failures.h"
#include "operator/reconcile/decide/yielding.h"

namespace sailor {
namespace {

// Returns the record in which the running generation is the newest one again. This is safe because no agent was
// notified of the withdrawn one.
GenerationRecord without_change(const GenerationRecord& record) {
  GenerationRecord next = record;
  next.last_issued = std::max(next.last_issued, record.generation);
  static_cast<Generation&>(next) = record.running.value();
  next.running.reset();
  std::erase_if(next.older, [&](const OlderRecord& older) { return older.generation == next.generation; });
  return next;
}

PolicyResult withdraw(const GenerationRecord& record, const std::string& message,
                      const std::vector<QuarantinedNode>& nodes_to_quarantine) {
  const std::int64_t given_up = record.generation;
  GenerationRecord next = without_change(record);
  quarantine(next, nodes_to_quarantine);
  PolicyResult result;
  result.events.push_back({true, Reason::kChangeWithdrawn,
                           fmt::format("Generation {} is given up and {} trains on: {}{}", given_up, next.generation,
                                       message, message.ends_with('.') ? "" : ".")});
  write_record(result, std::move(next));
  return result;
}

// Returns the job that claims GPUs of the newest generation, or those of the running one, unless this very change gives
// the latter up; null: none does.
const Rival* find_claimant_of_change(const Observation& observation, const GenerationRecord& record) {
  if (const Rival* claimant = find_claimant(observation, record)) return claimant;
  return record.reason == Reason::kPreempted ? nullptr : find_claimant(observation, record.running.value());
}

// Returns the pods of the change that have a node and do not train yet.
std::vector<const PodView*> joining_pods(const Observation& observation, const GenerationRecord& record) {
  std::vector<const PodView*> pods;
  for (const Slot& slot : record.placement.slots) {
    const PodView* pod = find_pod(observation, slot.pod);
    const bool joins = pod != nullptr && !pod->node.empty() && member_of(record.running.value(), pod->uid) == nullptr;
    if (joins) pods.push_back(pod);
  }
  return pods;
}

// Looks for a better plan on existing nodes that the change does not use. Some may have become free since it began.
BetterPlan look_elsewhere(const Observation& observation, const GenerationRecord& record) {
  NodeQuery query = NodeQuery::for_change(ElasticityMode::kLive);
  for (const PodView* pod : joining_pods(observation, record)) query.lost_pods.insert(pod->name);
  return look_for_better_plan(observation, record.running.value(), query);
}

PolicyResult replace(const Observation& observation, const GenerationRecord& record, const BetterPlan& better) {
  const PlanAnswer& answer = *better.lookup.answer;
  const Cause cause{
      Reason::kScaleUpOpportunity,
      fmt::format("Not all new nodes of generation {} have come, and another better plan is possible: {}.",
                  record.generation, gpus_text(answer.result->plan))};
  return adopt_plan(observation, without_change(record), answer, better.query, cause);
}

// Replaces a change that waits for new nodes by a better one: without the pools that have given none, with the nodes
// that have come so far, or with nodes that have become free. Withdraws it if there is no better one and no node is
// expected any more, or if a job that waits may use the nodes.
std::optional<PolicyResult> replace_change(const Observation& observation, const GenerationRecord& record) {
  const std::vector<NodeWait> waits = find_node_waits(observation, record.placement);
  if (waits.empty()) return std::nullopt;
  const Competition competition(observation);
  for (const NodeWait& wait : waits) {
    const Rival* first = competition.find_waiting_for_growth(wait.pool);
    if (first == nullptr) continue;
    return withdraw(record,
                    fmt::format("job {} waits for nodes of {}", to_string(first->rank.key), to_string(wait.pool)), {});
  }
  const auto over = std::ranges::find_if(waits, [&](const NodeWait& wait) { return observation.now >= wait.over_at; });
  const bool is_over = over != waits.end();
  const auto late_at = others_are_late_at(observation, record);
  const bool begins = is_over || (late_at && observation.now >= *late_at);
  if (!begins) {
    const BetterPlan elsewhere = look_elsewhere(observation, record);
    if (elsewhere.lookup.answer == nullptr) return ask_planner(elsewhere.lookup);
    if (!elsewhere.is_found) return std::nullopt;
  }
  NodeQuery query = NodeQuery::for_change(ElasticityMode::kLive);
  if (is_over) query.scope = NodeScope::kGrowable;
  const BetterPlan better = look_for_better_plan(observation, record.running.value(), query);
  if (better.lookup.answer == nullptr) return ask_planner(better.lookup);
  if (better.is_found) return replace(observation, record, better);
  return is_over ? std::optional(withdraw(record, text_of(observation, *over), {})) : std::nullopt;
}

}  // namespace

std::optional<PolicyResult> watch_joining_pods(const Observation& observation) {
  const GenerationRecord& record = observation.record.value();
  if (!record.running) return std::nullopt;
  if (const auto disruption = find_disruption(observation, *record.running)) {
    return withdraw(record, disruption->message, {});
  }
  if (record.spec_generation != observation.job.spec_generation) {
    return withdraw(record, "the job's spec has changed", {});
  }
  if (const Rival* claimant = find_claimant_of_change(observation, record)) {
    return withdraw(
        record,
        fmt::format("job {} of priority {} takes GPUs of it", to_string(claimant->rank.key), claimant->rank.priority),
        {});
  }
  if (const auto failure = find_uncounted_failure(observation)) {
    const PodView* pod = find_pod(observation, failure->pod);
    const bool is_running = member_of(*record.running, pod->uid) != nullptr;
    if (is_running) return withdraw(record, failure->message, {});  // the next decision counts the failure
    const Time until = observation.now + observation.settings.start_limit;
    return withdraw(record, fmt::format("pod {} failed: {}", failure->pod, failure->message),
                    {{node_uid_of_pod(observation, failure->pod), Time(), until}});
  }
  if (const PodRefusal* refusal = find_refusal(observation, record.placement)) {
    return withdraw(record, refusal->message, {});
  }
  if (auto replaced = replace_change(observation, record)) return replaced;
  if (const auto problem = find_startup_disruption(observation)) {
    return withdraw(record, problem->message, problem->nodes_to_quarantine);
  }
  PolicyResult result;
  requeue(result, observation.settings.start_limit);
  return result;
}

}  // namespace sailor
