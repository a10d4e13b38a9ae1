#include "operator/reconcile/decide/completion.h"

#include <algorithm>

#include <fmt/format.h>

#include "operator/model/observation_queries.h"

namespace sailor {
namespace {

bool is_finished(const WorkerReport& worker) { return worker.phase == WorkerPhase::kFinished; }

bool reports_finished_worker(const std::optional<AgentReport>& report) {
  return report && std::ranges::any_of(report->workers, is_finished);
}

bool has_finished(const PodView& pod) { return pod.is_ours && reports_finished_worker(pod.termination_report); }

// Returns the last report of a worker that has done all steps, of the newest generation, once its pod has ended.
std::optional<WorkerReport> last_finished_worker(const Observation& observation) {
  std::optional<WorkerReport> last;
  for (const PodView& pod : observation.pods) {
    if (!pod.is_ours || !pod.termination_report) continue;
    for (const WorkerReport& worker : pod.termination_report->workers) {
      if (is_finished(worker) && (!last || worker.generation > last->generation)) last = worker;
    }
  }
  return last;
}

// The longest time that the end of the job waits for a pod that does not answer.
constexpr auto kEndLimit = std::chrono::seconds(30);

// Returns whether the pod has not answered for long. Another pod has said that all workers are done and that the last
// checkpoint is complete, so this one cannot have anything that is still needed.
bool is_given_up(const Observation& observation, const PodView& pod) {
  const AgentView* agent = find_agent(observation, pod);
  return agent != nullptr && agent->unanswered_since && observation.now - *agent->unanswered_since >= kEndLimit;
}

// Returns whether the pod may still end by itself after this generation. A worker reports that it has finished once all
// of them have and the last checkpoint is complete. So a worker that has lost its peers since has nothing left to do;
// it waits for another generation, as does one that was to join a later one.
bool may_finish(const Observation& observation, const PodView& pod, std::int64_t generation) {
  if (!pod.is_ours || pod.has_ended() || pod.is_deleting) return false;
  if (const AgentView* agent = find_agent(observation, pod); agent != nullptr && agent->answers()) {
    return std::ranges::any_of(agent->report.value().workers, [&](const WorkerReport& worker) {
      const bool waits = worker.phase == WorkerPhase::kReleased || worker.phase == WorkerPhase::kBroken;
      return worker.generation == generation && !waits;
    });
  }
  const bool is_notified = !observation.record || observation.record->notified.contains(pod.uid);
  return is_notified && observation.cluster->find_node(pod.node) != nullptr && !is_given_up(observation, pod);
}

bool may_finish(const Observation& observation, std::int64_t generation) {
  return std::ranges::any_of(observation.pods,
                             [&](const PodView& pod) { return may_finish(observation, pod, generation); });
}

// Returns why the workers could not save the state of the last step; empty if they saved it, or if the job has no
// checkpoints.
std::string why_unsaved(const Observation& observation, std::int64_t last_step) {
  std::string why;
  for (const PodView& pod : observation.pods) {
    if (!pod.is_ours || !pod.termination_report) continue;
    const auto& progress = pod.termination_report->progress;
    if (progress && progress->last_checkpoint_step >= last_step) return "";
    for (const WorkerReport& worker : pod.termination_report->workers) {
      if (is_finished(worker) && !worker.message.empty()) why = worker.message;
    }
  }
  return why;
}

// spec.training.steps may have grown when the workers had done the last step that they knew of, or were about to.
std::string end_message(const Observation& observation, const WorkerReport& finished) {
  const std::int64_t wanted = observation.job.spec->training.steps;
  if (const std::string why = why_unsaved(observation, finished.step); !why.empty())
    return fmt::format("{} steps are done. The last checkpoint could not be written: {}.", finished.step, why);
  if (finished.step >= wanted) return fmt::format("All {} steps are done.", wanted);
  return fmt::format(
      "{} steps are done. spec.training.steps was raised to {} too late for the workers to know; to go on, create a "
      "job of {} "
      "steps that names this one in checkpoint.resumeFrom.",
      finished.step, wanted, wanted);
}

}  // namespace

std::optional<PolicyResult> complete_job(const Observation& observation) {
  const auto finished = last_finished_worker(observation);
  if (!finished || may_finish(observation, finished->generation)) return std::nullopt;
  PolicyResult result{.is_final = true};
  using enum ConditionType;
  result.conditions = {
      {kPlanned, yes(Reason::kPlanned, "The job ran to its end.")},
      {kPodsReady, no(Reason::kComplete, "The pods have ended.")},
      {kRunning, no(Reason::kComplete, "All steps are done.")},
      {kRescaling, no(Reason::kComplete, "The job has ended.")},
      {kDegraded, no(Reason::kComplete, "The job has ended.")},
      {kSuspended, no(Reason::kNotSuspended, "spec.suspend is false.")},
      {kComplete, yes(Reason::kAllStepsDone, end_message(observation, *finished))},
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
  requeue(result, kEndLimit);  // no watch reports that a pod still does not answer
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
