#include "operator/reconcile/decide/spec_change.h"

#include "operator/reconcile/decide/next_generation.h"
#include "planner/replan/change_rules.h"

namespace sailor {
namespace {

Cause changed_spec() { return {Reason::kSpecChanged, "The job's spec has changed."}; }

// Returns whether the workers have to be told what has changed for them, whatever becomes of their plan.
bool workers_must_know(const Observation& observation) {
  const GenerationRecord& record = observation.record.value();
  const RunSettings settings = run_settings_of(observation.job.spec.value());
  return record.is_committed() && (!record.settings || must_be_told(*record.settings, settings));
}

PolicyResult keep_plan(const Observation& observation) {
  GenerationRecord record = observation.record.value();
  if (workers_must_know(observation)) return keep_plan_in_new_generation(observation, record, changed_spec());
  if (!record.is_committed()) record.settings = run_settings_of(observation.job.spec.value());  // no agent knows it
  record.spec_generation = observation.job.spec_generation;
  PolicyResult result;
  write_record(result, std::move(record));
  return result;
}

// The workers follow the new spec as far as they can, so that they do not end at the step of the old one. The spec
// still counts as new, so that the job changes to a plan for it once there is one.
PolicyResult keep_plan_for_now(const Observation& observation, const PlanAnswer& answer) {
  const GenerationRecord& record = observation.record.value();
  PolicyResult result;
  if (workers_must_know(observation)) {
    result = keep_plan_in_new_generation(observation, record, changed_spec());
    result.record.value().spec_generation = record.spec_generation;
  }
  Condition& planned = result.conditions[ConditionType::kPlanned] = no_plan(observation, answer);
  planned.message += ". The job keeps its plan until there is one for its present spec.";
  return result;
}

}  // namespace

std::optional<PolicyResult> follow_changed_spec(const Observation& observation) {
  const GenerationRecord& record = observation.record.value();
  if (record.spec_generation == observation.job.spec_generation) return std::nullopt;
  if (!may_change_by_choice(*observation.job.spec)) return keep_plan(observation);
  const ElasticityMode mode = observation.job.spec->elasticity;
  const NodeQuery query = NodeQuery::for_change(mode);
  const PlanLookup lookup = look_up_plan(observation, usable_nodes(observation, query), record.plan);
  if (lookup.has_no_plan()) return keep_plan_for_now(observation, *lookup.answer);
  if (!lookup.has_plan()) return ask_planner(lookup);
  if (lookup.answer->result->plan == record.plan) return keep_plan(observation);
  return mode == ElasticityMode::kRestart ? save_and_release_gpus(observation, record, changed_spec())
                                          : adopt_plan(observation, record, *lookup.answer, query, changed_spec());
}

}  // namespace sailor
