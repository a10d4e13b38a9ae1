#include "operator/reconcile/decide/better_plan.h"

#include <fmt/format.h>

#include "operator/model/observation_queries.h"
#include "operator/reconcile/decide/next_generation.h"
#include "operator/reconcile/decide/stragglers.h"
#include "planner/replan/change_rules.h"

namespace sailor {
namespace {

// A job that trains proposes no change for this long after a new pod was refused, because the pods of the next change
// would be refused too.
constexpr auto kRefusalPause = std::chrono::minutes(5);

bool is_better(const Objective& objective, const PlanSummary& present, const Estimate& other) {
  return is_clearly_better(objective, {present.iteration_seconds, present.cost_per_iteration()},
                           {other.iteration.value(), other.cost_per_iteration().value()});
}

Cause cause_of(const Observation& observation, const Plan& better) {
  if (auto cause = cause_of_faster_gpus(observation)) return *std::move(cause);
  return {Reason::kScaleUpOpportunity, fmt::format("A better plan has become possible: {}.", gpus_text(better))};
}

}  // namespace

std::optional<PolicyResult> change_to_better_plan(const Observation& observation) {
  const GenerationRecord& record = observation.record.value();
  const ElasticityMode mode = observation.job.spec->elasticity;
  if (mode == ElasticityMode::kOff || !trains(observation, record)) return std::nullopt;
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
  const NodeQuery query{NodeScope::kExisting, {}, mode == ElasticityMode::kRestart, /*leaves_nodes=*/true};
  if (Competition(observation).leaves_nodes_for_now()) requeue(result, kLongestTurn);
  const PlanLookup lookup = look_up_better_plan(observation, query);
  if (!lookup.has_plan()) {
    merge(result, ask_planner(lookup));
    return result;
  }
  const PlannedJob& better = *lookup.answer->result;
  if (better.keeps_current || better.plan == record.plan) return result;
  if (!is_better(observation.job.spec->objective, record.summary, better.estimate)) return result;
  const Cause cause = cause_of(observation, better.plan);
  return mode == ElasticityMode::kRestart ? save_and_release_gpus(observation, record, cause)
                                          : adopt_plan(observation, record, *lookup.answer, query, cause);
}

}  // namespace sailor
