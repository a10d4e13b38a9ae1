#include "operator/reconcile/decide/lost_record.h"

#include <algorithm>

#include <fmt/format.h>

#include "operator/model/observation_queries.h"
#include "operator/reconcile/decide/completion.h"
#include "operator/reconcile/decide/membership.h"
#include "operator/reconcile/decide/next_generation.h"
#include "operator/reconcile/decide/pod_states.h"
#include "operator/reconcile/decide/queueing.h"
#include "operator/reconcile/decide/saving.h"

namespace sailor {
namespace {

constexpr const char* kMessage = "The job's record was lost, so its pods go on with a new generation.";

bool may_live(const PodView& pod) { return pod.is_ours && !pod.has_ended(); }

// Returns the highest number that an agent of one of the job's pods has reported.
std::int64_t highest_reported(const Observation& observation) {
  std::int64_t highest = 0;
  for (const PodView& pod : observation.pods) {
    const AgentView* agent = find_agent(observation, pod);
    if (!pod.is_ours || agent == nullptr || !agent->report) continue;
    highest = std::max(highest, agent->report->assigned_generation);
    for (const WorkerReport& worker : agent->report->workers) highest = std::max(highest, worker.generation);
  }
  return highest;
}

// Returns whether a pod may still answer with a higher number than all that are known. A pod without an address cannot
// have been notified of any generation.
bool awaits_answers(const Observation& observation) {
  return std::ranges::any_of(observation.pods, [&](const PodView& pod) {
    const bool is_unheard = contact_of(find_agent(observation, pod)) == AgentContact::kNotHeardYet;
    return may_live(pod) && !pod.ip.empty() && is_unheard;
  });
}

// Adds all pods that may live to the older generations, each as a generation of its own, and as notified of the newest
// number, so that they take part. A pod without an address has never run: if its node is gone, it never will.
void suspect_all_pods(const Observation& observation, GenerationRecord& record) {
  for (const PodView& pod : observation.pods) {
    if (!may_live(pod) || pod.ip.empty()) continue;
    record.older.push_back({record.last_issued, false, false, {member_from(pod, observation, false)}});
    record.notified[pod.uid] = record.last_issued;
  }
}

GenerationRecord rebuilt_record(const Observation& observation) {
  GenerationRecord record;
  record.job_uid = observation.job.uid;
  record.generation = record.last_issued = highest_known_generation(observation);
  record.restarts = observation.job.status.restarts;
  suspect_all_pods(observation, record);
  return record;
}

Condition planner_is_asked() {
  return no(Reason::kRecordLost, "The job's record was lost. The planner makes a new plan.");
}

bool is_wanted_back(const Observation& observation) {
  return observation.queue && std::ranges::any_of(observation.queue->workloads, &Workload::must_give_back);
}

// The queue keeps the GPUs for the job until it gives them back, and its pods need a plan to save their state first.
Observation before_eviction(Observation observation) {
  if (observation.queue) {
    for (Workload& workload : observation.queue->workloads) workload.is_evicted = false;
  }
  return observation;
}

// Saves the state of a job that has too few GPUs left for a plan, and releases them. The workers have no roles then, so
// a plan with fewer GPUs than the job allows does. Returns nothing if there is no such plan either. Without elasticity,
// a job that resumes keeps the plan of its record, so that must not be one for saving.
std::optional<PolicyResult> save_with_too_few_gpus(Observation observation, const Error& error) {
  if (!can_save(observation) || observation.job.spec->elasticity == ElasticityMode::kOff) return std::nullopt;
  observation.job.spec->resources.min_gpus = 1;
  const PlanLookup lookup = look_up_remaining_plan(observation, {}, std::nullopt).lookup;
  if (lookup.has_no_plan()) return std::nullopt;
  if (!lookup.has_plan()) {
    PolicyResult result = ask_planner(lookup);
    result.conditions[ConditionType::kPlanned] = planner_is_asked();
    return result;
  }
  const std::string message = fmt::format("The job's record was lost, and {}", error.message);
  GenerationRecord next =
      next_generation(observation, rebuilt_record(observation), {Reason::kWaitingForCapacity, message});
  next.plan = lookup.answer->result->plan;
  next.releases_gpus = true;
  return begin_generation(observation, std::move(next));
}

bool trains_on(const Observation& observation) {
  return any_worker_trains(observation) && !observation.job.spec->suspend && !is_wanted_back(observation);
}

PolicyResult wait_for_plan(const Observation& observation, const PlanLookup& lookup) {
  PolicyResult result = ask_planner(lookup);
  Condition& planned = result.conditions[ConditionType::kPlanned];
  planned = lookup.has_no_plan() ? no_plan(observation, *lookup.answer) : planner_is_asked();
  if (trains_on(observation)) {
    result.conditions[ConditionType::kRunning] = yes(Reason::kTraining, "The workers train on.");
  }
  if (lookup.has_no_plan() && (is_wanted_back(observation) || !may_hold_state(observation))) {
    remove_running_pods(result, observation);
  }
  return result;
}

}  // namespace

std::int64_t highest_known_generation(const Observation& observation) {
  std::int64_t highest = highest_reported(observation);
  const JobStatus& status = observation.job.status;
  if (status.plan) highest = std::max(highest, status.plan->generation);
  for (const RescaleStatus& rescale : status.rescales) highest = std::max(highest, rescale.to_generation);
  for (const PodView& pod : observation.pods) {
    if (pod.is_ours) highest = std::max(highest, pod.created_for_generation);
  }
  return highest;
}

std::optional<PolicyResult> replace_lost_record(const Observation& observation) {
  if (observation.record || highest_known_generation(observation) == 0) return std::nullopt;
  if (await_end_of_pods(observation)) return std::nullopt;
  const bool suspends = observation.job.spec->suspend;
  if (suspends && !may_hold_state(observation)) return std::nullopt;  // there is nothing to save
  if (awaits_answers(observation)) {
    PolicyResult result;
    result.conditions[ConditionType::kPlanned] =
        no(Reason::kRecordLost, "The job's record was lost. The operator asks the pods for their generation.");
    return result;
  }
  if (!may_hold_state(observation)) {
    if (auto waiting = await_quota(observation)) {
      remove_running_pods(*waiting, observation);
      return waiting;
    }
  }
  const Observation usable = before_eviction(observation);
  const auto [query, lookup] = look_up_remaining_plan(usable, {}, std::nullopt);
  if (lookup.has_plan()) {
    return adopt_plan(usable, rebuilt_record(observation), *lookup.answer, query, {Reason::kRecordLost, kMessage});
  }
  if (lookup.has_no_plan() && !trains_on(observation)) {
    if (auto saving = save_with_too_few_gpus(usable, lookup.answer->result.error())) return saving;
  }
  if (suspends && lookup.has_no_plan()) return std::nullopt;  // without a plan nothing can be saved
  return wait_for_plan(observation, lookup);
}

std::optional<PolicyResult> outnumber_unknown_generation(const Observation& observation) {
  const GenerationRecord& record = observation.record.value();
  const std::int64_t reported = highest_reported(observation);
  if (reported <= std::max(record.last_issued, record.generation)) return std::nullopt;
  GenerationRecord before = record;
  before.last_issued = reported;
  suspect_all_pods(observation, before);
  const std::string message =
      fmt::format("An agent obeys generation {}, which the job's record does not know.", reported);
  GenerationRecord next = next_generation(observation, before, {Reason::kRecordLost, message});
  if (record.releases_gpus) {  // the job waits for the same as before
    next.releases_gpus = true;
    next.reason = record.reason;
    next.message = record.message;
  }
  return begin_generation(observation, std::move(next));
}

}  // namespace sailor
