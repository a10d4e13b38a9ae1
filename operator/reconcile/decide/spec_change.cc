#include "operator/reconcile/decide/spec_change.h"

#include "operator/reconcile/decide/next_generation.h"

namespace sailor {
namespace {

Cause changed_spec() { return {Reason::kSpecChanged, "The job's spec has changed."}; }

PolicyResult keep_plan(const Observation& observation) {
  GenerationRecord record = observation.record.value();
  const RunSettings settings = run_settings_of(observation.job.spec.value());
  if (record.is_committed() && (!record.settings || must_be_told(*record.settings, settings)))
    return keep_plan_in_new_generation(observation, record, changed_spec());
  if (!record.is_committed()) record.settings = settings;  // no agent has been notified
  record.spec_generation = observation.job.spec_generation;
  PolicyResult result;
  write_record(result, std::move(record));
  return result;
}

}  // namespace

std::optional<PolicyResult> follow_changed_spec(const Observation& observation) {
  const GenerationRecord& record = observation.record.value();
  if (record.spec_generation == observation.job.spec_generation) return std::nullopt;
  const ElasticityMode mode = observation.job.spec->elasticity;
  if (mode == ElasticityMode::kOff) return keep_plan(observation);
  const NodeQuery query = NodeQuery::for_change(mode);
  const PlanLookup lookup = look_up_plan(observation, usable_nodes(observation, query), record.plan);
  if (!lookup.has_plan()) {
    PolicyResult result = ask_planner(lookup);
    if (lookup.has_no_plan()) result.conditions[ConditionType::kPlanned] = no_plan(observation, *lookup.answer);
    return result;
  }
  if (lookup.answer->result->plan == record.plan) return keep_plan(observation);
  return mode == ElasticityMode::kRestart ? save_and_release_gpus(observation, record, changed_spec())
                                          : adopt_plan(observation, record, *lookup.answer, query, changed_spec());
}

}  // namespace sailor
