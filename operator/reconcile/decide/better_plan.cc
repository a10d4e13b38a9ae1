#include "operator/reconcile/decide/better_plan.h"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

#include "operator/model/observation_queries.h"
#include "operator/reconcile/decide/competition.h"
#include "operator/reconcile/decide/job_conditions.h"
#include "operator/reconcile/decide/next_generation.h"
#include "operator/reconcile/decide/postponed_change.h"
#include "operator/reconcile/decide/stragglers.h"
#include "planner/replan/change_rules.h"

namespace sailor {
namespace {

// A job that trains proposes no change for this long after a new pod was refused, because the pods of the next change
// would be refused too.
constexpr auto kRefusalPause = std::chrono::minutes(5);

// Clouds need some minutes to make a node with GPUs. A job that ends sooner would not use it.
constexpr std::chrono::seconds kTimeToGetNodes = std::chrono::minutes(5);

bool is_better(const Objective& objective, const PlanSummary& present, const Estimate& other) {
  return is_clearly_better(objective, {present.iteration_seconds, present.cost_per_iteration()},
                           {other.iteration.value(), other.cost_per_iteration().value()});
}

// Returns in how many seconds the job will have done all its steps if nothing changes.
double remaining_seconds(const Observation& observation) {
  const auto progress = newest_progress(observation);
  const double measured = progress ? progress->step_seconds : 0;
  const double step_seconds = measured > 0 ? measured : observation.record.value().summary.iteration_seconds;
  const std::int64_t done = progress ? progress->step : 0;
  return step_seconds * static_cast<double>(observation.job.spec->training.steps - done);
}

// Returns whether a plan may count on nodes that do not exist yet, of pools that can grow.
bool may_ask_for_new_nodes(const Observation& observation) {
  if (observation.job.spec->elasticity != ElasticityMode::kLive) return false;
  if (remaining_seconds(observation) < kTimeToGetNodes.count()) return false;
  return std::ranges::any_of(observation.cluster->pools, [&](const auto& pool) {
    return observation.cluster->growth_left(pool.second, observation.job.uid, observation.now) > 0;
  });
}

Cause cause_of(const Observation& observation, const PlannedJob& better) {
  if (const auto& missed = better.limit_missed_by_current) {
    return {Reason::kLimitExceeded, fmt::format("The plan before {}. This one keeps the limit: {}.", to_string(*missed),
                                                gpus_text(better.plan))};
  }
  if (auto cause = cause_of_faster_gpus(observation)) return *std::move(cause);
  return {Reason::kScaleUpOpportunity, fmt::format("A better plan has become possible: {}.", gpus_text(better.plan))};
}

// Says that a job keeps its plan although the planner would not make it any more, mostly because prices have risen
// above a limit of the objective.
Condition plan_stays(const Observation& observation, const Error& why) {
  Condition condition = planned(observation, observation.record.value());
  condition.message += fmt::format(" The job keeps this plan because no other is possible: {}.", why.message);
  return condition;
}

}  // namespace

std::optional<PolicyResult> change_to_better_plan(const Observation& observation) {
  const GenerationRecord& record = observation.record.value();
  const ElasticityMode mode = observation.job.spec->elasticity;
  if (!may_change_by_choice(*observation.job.spec) || !trains(observation, record)) return std::nullopt;
  const Time quiet_until = record.decided_at + observation.settings.cool_down;
  PolicyResult result;
  if (observation.now < quiet_until) {
    requeue(result, quiet_until - observation.now);
    return result;
  }
  if (const auto& refusal = observation.refusal; refusal && observation.now < refusal->retry_at + kRefusalPause) {
    requeue(result, time_until(observation.now, refusal->retry_at + kRefusalPause));
    return result;
  }
  const NodeQuery query = NodeQuery::for_change(mode);
  if (Competition(observation).leaves_nodes_for_now()) requeue(result, kLongestTurn);
  const BetterPlan better = look_for_better_plan_with_growth(observation, record, query);
  if (!better.is_found) {
    merge(result, ask_planner(better.lookup));
    if (better.lookup.answer != nullptr) merge(result, end_postponement(observation));
    if (better.lookup.has_no_plan()) {
      result.conditions[ConditionType::kPlanned] = plan_stays(observation, better.lookup.answer->result.error());
    }
    return result;
  }
  const PlanAnswer& answer = *better.lookup.answer;
  if (auto postponed = postpone_change(observation, *answer.result)) {
    merge(result, *std::move(postponed));
    return result;
  }
  const Cause cause = cause_of(observation, *answer.result);
  return mode == ElasticityMode::kRestart ? save_and_release_gpus(observation, record, cause)
                                          : adopt_plan(observation, record, answer, better.query, cause);
}

BetterPlan look_for_better_plan(const Observation& observation, const Generation& running, const NodeQuery& query) {
  BetterPlan better{query, look_up_better_plan(observation, running, query)};
  if (!better.lookup.has_plan()) return better;
  const PlannedJob& planned = *better.lookup.answer->result;
  better.is_found = !planned.keeps_current && planned.plan != running.plan &&
                    (planned.limit_missed_by_current ||
                     is_better(observation.job.spec->objective, running.summary, planned.estimate));
  return better;
}

BetterPlan look_for_better_plan_with_growth(const Observation& observation, const Generation& running,
                                            NodeQuery query) {
  BetterPlan better = look_for_better_plan(observation, running, query);
  if (better.lookup.answer == nullptr || better.is_found || !may_ask_for_new_nodes(observation)) return better;
  query.scope = NodeScope::kGrowable;
  return look_for_better_plan(observation, running, query);
}

}  // namespace sailor
