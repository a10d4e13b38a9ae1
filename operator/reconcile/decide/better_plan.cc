#include "operator/reconcile/decide/better_plan.h"

#include <fmt/format.h>

#include "operator/model/observation_queries.h"
#include "operator/reconcile/decide/next_generation.h"

namespace sailor {
namespace {

bool is_worthwhile(const Objective& objective, const PlanSummary& now, const Estimate& then) {
  constexpr double kFactor = 1 + kWorthwhileGain;  // the planner's own threshold
  if (std::holds_alternative<MinimizeCost>(objective)) {
    return then.cost_per_iteration().value() * kFactor < now.cost_per_iteration();
  }
  return now.iteration_seconds > then.iteration.value() * kFactor;
}

}  // namespace

std::optional<PolicyResult> change_to_better_plan(const Observation& observation) {
  const GenerationRecord& record = *observation.record;
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
  if (!is_worthwhile(observation.job.spec->objective, record.summary, better.estimate)) return std::nullopt;
  const Cause cause{Reason::kScaleUpOpportunity,
                    fmt::format("A better plan has become possible: {}.", gpus_text(better.plan))};
  return mode == ElasticityMode::kRestart ? save_and_release_gpus(observation, record, cause)
                                          : adopt_plan(observation, record, *lookup.answer, query, cause);
}

}  // namespace sailor
