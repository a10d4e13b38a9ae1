#include "operator/reconcile/decide/decide.h"

#include <array>

#include "operator/reconcile/decide/better_plan.h"
#include "operator/reconcile/decide/clock_set_back.h"
#include "operator/reconcile/decide/completion.h"
#include "operator/reconcile/decide/deadline.h"
#include "operator/reconcile/decide/disruption.h"
#include "operator/reconcile/decide/disruption_response.h"
#include "operator/reconcile/decide/ended_job.h"
#include "operator/reconcile/decide/failure_response.h"
#include "operator/reconcile/decide/first_generation.h"
#include "operator/reconcile/decide/invalid_job.h"
#include "operator/reconcile/decide/job_conditions.h"
#include "operator/reconcile/decide/job_security.h"
#include "operator/reconcile/decide/joining_pods.h"
#include "operator/reconcile/decide/lost_record.h"
#include "operator/reconcile/decide/new_nodes.h"
#include "operator/reconcile/decide/next_status.h"
#include "operator/reconcile/decide/partial_start.h"
#include "operator/reconcile/decide/policy.h"
#include "operator/reconcile/decide/quarantine.h"
#include "operator/reconcile/decide/queueing.h"
#include "operator/reconcile/decide/released_job.h"
#include "operator/reconcile/decide/run_generation.h"
#include "operator/reconcile/decide/spec_change.h"
#include "operator/reconcile/decide/state_at_risk.h"
#include "operator/reconcile/decide/stored_record.h"
#include "operator/reconcile/decide/stragglers.h"
#include "operator/reconcile/decide/suspension.h"
#include "operator/reconcile/decide/yielding.h"

namespace sailor {
namespace {

using Policy = std::optional<PolicyResult> (*)(const Observation&);

// The first policy that applies to the job decides. The policies after start_first_generation require a record.
constexpr std::array<Policy, 20> kPolicies = {
    hold_invalid_job,              // its spec, or its record, cannot be read
    complete_job,                  // all steps are done and all pods have ended
    fail_job_past_deadline,        // spec.activeDeadlineSeconds
    replace_lost_record,           // a new generation above all that the agents know
    suspend_job,                   // save the state and release the GPUs
    await_end_of_pods,             // all steps are done
    start_first_generation,        // there is no plan yet
    outnumber_unknown_generation,  // an agent knows more than the record
    count_late_failure,            // of a pod that seemed to be lost with its node
    resume_released_job,           // finish saving the state, then start again once there are GPUs
    note_pool_refusals,            // a pool has given no node
    watch_joining_pods,            // a voluntary change waits for its new pods: withdraw it if they fail
    respond_to_trainer_failure,    // continue without the failed pod, or restart, or fail the job
    respond_to_disruption,         // pods or nodes are lost, or about to be: continue with what is left
    start_on_nodes_that_came,      // others that it waits for are late
    yield_to_queue,                // Kueue takes GPUs back
    yield_gpus,                    // a job of higher priority claims GPUs of this one
    follow_changed_spec,           // plan for the new spec
    respond_to_stragglers,         // GPUs are slower than the plan assumes
    change_to_better_plan,         // GPUs have been added, or prices or profiles have changed
};

PolicyResult first_result(const Observation& observation) {
  for (const Policy policy : kPolicies) {
    if (auto result = policy(observation)) return *std::move(result);
  }
  return {};
}

const std::optional<GenerationRecord>& newest_record(const Observation& observation, const PolicyResult& result) {
  return result.record ? result.record : observation.record;
}

}  // namespace

Decision decide(const Observation& observation) {
  // The garbage collector removes the objects that a deleted job owns.
  if (observation.job.is_deleting || !observation.job.managed_by.empty()) return {};
  if (observation.job.status.has_ended()) return clean_up_ended_job(observation);
  if (const auto corrected = with_corrected_times(observation)) return decide(*corrected);
  PolicyResult result = first_result(observation);
  store_imported_record(result, observation);
  serve_queue(result, observation);
  if (!result.is_final) {
    merge(result, requeue_at_deadline(observation));
    merge(result, requeue_at_end_of_quarantine(observation));
    merge(result, requeue_at_start_limit(observation));
    merge(result, requeue_at_rendezvous_limit(observation));
    merge(result, requeue_for_new_nodes(observation));
    merge(result, requeue_when_state_is_at_risk(observation));
    merge(result, requeue_while_pods_wait(observation));
    if (const auto& record = newest_record(observation, result)) {
      merge(result, run_generation(observation, *record, result.keeps_ended_pods));
    }
    result.conditions.merge(conditions_of(observation, newest_record(observation, result)));
  }
  if (const auto& record = newest_record(observation, result)) publish_plan(result, observation, *record);
  Decision decision = with_status(observation, std::move(result));
  secure_job(decision, observation);
  return decision;
}

}  // namespace sailor
