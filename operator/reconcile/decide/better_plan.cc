#include "operator/reconcile/decide/better_plan.h"

#include <fmt/format.h>

#include "operator/model/observation_queries.h"
#include "operator/reconcile/decide/next_generation.h"
#include "planner/problem/worth_moving.h"

namespace sailor {
namespace {

bool is_better(const Objective& objective, const PlanSummary& present, const Estimate& other) {
  if (std::holds_alternative<MinimizeCost>(objective)) {
    return is_worth_moving(present.cost_per_iteration(), other.cost_per_iteration().value());
  }
  return is_worth_moving(present.iteration_seconds, other.iteration.value());
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
  const NodeQuery query{NodeScope::kExisting, {}, mode == ElasticityMode::kRestart};
  const PlanLookup lookup = look_up_plan(observation, usable_nodes(observation, query), record.plan);
  if (!lookup.has_plan()) return ask_planner(lookup);
  const PlannedJob& better = *lookup.answer->result;
  if (better.plan == record.plan) return std::nullopt;
  if (!is_better(observation.job.spec->objective, record.summary, better.estimate)) return std::nullopt;
  const Cause cause{Reason::kScaleUpOpportunity,
                    fmt::format("A better plan has become possible: {}.", gpus_text(better.plan))};
  return mode == ElasticityMode::kRestart ? save_and_release_gpus(observation, record, cause)
                                          : adopt_plan(observation, record, *lookup.answer, query, cause);
}

}  // namespace sailor
