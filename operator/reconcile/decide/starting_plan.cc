#include "operator/reconcile/decide/starting_plan.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "operator/reconcile/decide/competition.h"
#include "operator/reconcile/decide/queueing.h"
#include "planner/replan/change_rules.h"

namespace sailor {
namespace {

PlanFigures figures_of(const Estimate& estimate) {
  return {estimate.iteration.value(), estimate.cost_per_iteration().value()};
}

bool is_clearly_better(const Observation& observation, const PlanLookup& present, const PlanLookup& other) {
  return is_clearly_better(observation.job.spec->objective, figures_of(present.answer->result->estimate),
                           figures_of(other.answer->result->estimate));
}

StartingPlan with_taken(const Observation& observation, NodeQuery query, GpusByNode taken) {
  query.taken = std::move(taken);
  PlanLookup lookup = look_up_plan(observation, usable_nodes(observation, query), std::nullopt);
  return {std::move(query), std::move(lookup)};
}

// Returns how many GPUs the plan for `start` takes from other jobs.
int taken_gpus(const Observation& observation, const StartingPlan& start) {
  NodeQuery without_taken = start.query;
  without_taken.taken.clear();
  int free = 0;
  for (const UsableNode& node : usable_nodes(observation, without_taken)) free += node.gpus;
  return std::max(0, gpu_count(start.lookup.answer->result->plan) - free);
}

// A pod cannot give a part of its GPUs. So if a plan takes GPUs of many pods, one that takes as many GPUs of fewer pods
// is looked up, too. Returns that one unless it is clearly worse.
StartingPlan with_fewer_pods(const Observation& observation, StartingPlan start) {
  GpusByNode fewer = fewest_nodes(start.query.taken, taken_gpus(observation, start));
  if (fewer == start.query.taken) return start;
  StartingPlan other = with_taken(observation, start.query, std::move(fewer));
  if (other.lookup.answer == nullptr) return other;
  const bool is_good = other.lookup.has_plan() && !is_clearly_better(observation, other.lookup, start.lookup);
  return is_good ? other : start;
}

}  // namespace

std::optional<PolicyResult> await_turn(const Observation& observation) {
  if (auto quota = await_quota(observation)) return quota;
  const Competition competition(observation);
  const Rival* first = competition.find_turn_before();
  if (first == nullptr) return std::nullopt;
  PolicyResult result;
  result.conditions[ConditionType::kPlanned] =
      no(Reason::kWaitingForCapacity,
         fmt::format("Job {} (priority {}) comes first, and the planner is looking for its plan.",
                     to_string(first->rank.key), first->rank.priority));
  result.awaits_planner = true;
  requeue(result,
          kLongestTurn - competition.pending_for(*first));  // a change of that job causes the next decision sooner
  return result;
}

StartingPlan look_up_starting_plan(const Observation& observation, const NodeQuery& query) {
  StartingPlan free{query, look_up_plan_with_growth(observation, query, std::nullopt)};
  if (free.lookup.answer == nullptr) return free;
  const Competition competition(observation);
  if (GpusByNode spare = competition.spare_gpus_of_lower_jobs(); !spare.empty()) {
    StartingPlan other = with_taken(observation, query, std::move(spare));
    if (other.lookup.answer == nullptr) return other;
    const bool is_needed = free.lookup.has_no_plan() ||
                           (other.lookup.has_plan() && is_clearly_better(observation, free.lookup, other.lookup));
    if (other.lookup.has_plan() && is_needed) return with_fewer_pods(observation, std::move(other));
  }
  if (free.lookup.has_plan()) return free;
  for (const int enough : {observation.job.spec->resources.min_gpus, std::numeric_limits<int>::max()}) {
    GpusByNode taken = competition.gpus_of_lower_jobs(enough);
    if (taken.empty()) break;
    StartingPlan other = with_taken(observation, query, std::move(taken));
    if (!other.lookup.has_no_plan()) return other;
  }
  return free;
}

PolicyResult await_start(const Observation& observation, const StartingPlan& start) {
  PolicyResult result = ask_planner(start.lookup);
  result.conditions[ConditionType::kPlanned] = planning();
  result.awaits_planner = true;
  if (!start.lookup.has_no_plan()) return result;
  Condition planned = no_plan(observation, *start.lookup.answer);
  const Competition competition(observation);
  if (planned.reason == Reason::kPlanInfeasible) {
    // Could it start if no other job had GPUs?
    const PlanLookup lookup = with_taken(observation, start.query, competition.gpus_of_all_jobs()).lookup;
    if (lookup.answer == nullptr) {
      merge(result, ask_planner(lookup));
      return result;
    }
    if (lookup.has_plan()) planned.reason = Reason::kWaitingForCapacity;
  }
  const std::string holders =
      planned.reason == Reason::kWaitingForCapacity ? competition.holders_text() : std::string();
  if (!holders.empty()) planned.message += fmt::format("{} {}.", planned.message.ends_with('.') ? "" : ".", holders);
  result.conditions[ConditionType::kPlanned] = std::move(planned);
  result.awaits_planner = false;
  return result;
}

}  // namespace sailor
