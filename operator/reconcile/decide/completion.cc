#include "operator/reconcile/decide/completion.h"

#include <algorithm>

#include <fmt/format.h>

#include "operator/model/observation_queries.h"

namespace sailor {
namespace {

bool reports_finished_worker(const std::optional<AgentReport>& report) {
  return report && std::ranges::any_of(report->workers, [](const WorkerReport& worker) {
           return worker.phase == WorkerPhase::kFinished;
         });
}

bool has_finished(const PodView& pod) { return pod.is_ours && reports_finished_worker(pod.termination_report); }

bool runs(const Observation& observation, const Member& member) {
  const PodView* pod = find_pod(observation, member.address.name);
  const bool is_running = pod != nullptr && pod->uid == member.pod_uid && !pod->has_ended() && !pod->is_deleting;
  const bool is_reachable = find_answering(observation, member) != nullptr;
  return is_running && (is_reachable || observation.cluster.find_node(member.node) != nullptr);
}

// A job whose record is lost has completed if none of its pods runs.
bool have_all_ended(const Observation& observation) {
  return std::ranges::none_of(observation.pods,
                              [](const PodView& pod) { return pod.is_ours && !pod.has_ended() && !pod.is_deleting; });
}

bool has_completed(const Observation& observation) {
  if (!std::ranges::any_of(observation.pods, has_finished)) return false;
  if (!observation.record) return have_all_ended(observation);
  if (!observation.record->is_committed()) return false;
  return std::ranges::none_of(observation.record->members,
                              [&](const Member& member) { return !member.leaves && runs(observation, member); });
}

}  // namespace

std::optional<PolicyResult> complete_job(const Observation& observation) {
  if (!has_completed(observation)) return std::nullopt;
  PolicyResult result{.is_final = true};
  using enum ConditionType;
  result.conditions = {
      {kPlanned, yes(Reason::kPlanned, "The job ran to its end.")},
      {kPodsReady, no(Reason::kComplete, "The pods have ended.")},
      {kRunning, no(Reason::kComplete, "All steps are done.")},
      {kRescaling, no(Reason::kComplete, "The job has ended.")},
      {kDegraded, no(Reason::kComplete, "The job has ended.")},
      {kSuspended, no(Reason::kNotSuspended, "spec.suspend is false.")},
      {kComplete,
       yes(Reason::kAllStepsDone, fmt::format("All {} steps are done.", observation.job.spec->training.steps))},
      {kFailed, no(Reason::kComplete, "The job has not failed.")},
  };
  remove_running_pods(result, observation);
  return result;
}

std::optional<PolicyResult> await_end_of_pods(const Observation& observation) {
  const bool is_ending = std::ranges::any_of(observation.pods, has_finished) ||
                         std::ranges::any_of(observation.agents, [](const auto& agent) {
                           return reports_finished_worker(agent.second.report);
                         });
  if (!is_ending) return std::nullopt;
  const std::string message = "All steps are done; the pods are ending.";
  PolicyResult result{.is_final = true};
  using enum ConditionType;
  set_conditions(result, {kPodsReady, kRescaling, kDegraded}, no(Reason::kEnding, message));
  result.conditions[kPlanned] = yes(Reason::kPlanned, message);
  result.conditions[kRunning] = yes(Reason::kEnding, message);
  result.conditions[kSuspended] = no(Reason::kNotSuspended, "spec.suspend is false.");
  result.conditions[kComplete] = no(Reason::kStepsRemain, "The pods have not ended yet.");
  result.conditions[kFailed] = no(Reason::kNotFailed, "The job has not failed.");
  return result;
}

}  // namespace sailor
