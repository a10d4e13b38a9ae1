// The life of a job, from the top: ended, unreadable, complete, failed, suspended, or to be trained.
#include <algorithm>

#include <fmt/format.h>

#include "operator/model/job_status.h"
#include "operator/reconcile/decide/job_decision.h"
#include "operator/reconcile/decide/status.h"

namespace sailor {
namespace {

// A job that is to be suspended needs its agents until its state is saved.
bool is_saving(const kube::Json& status) {
  for (const kube::Json& condition : kube::list_at(status, {"conditions"})) {
    if (kube::text_at(condition, {"type"}) != "Suspended") continue;
    const std::string reason = kube::text_at(condition, {"reason"});
    return reason == "Saving" || reason == "NotSuspended";  // not heard of yet
  }
  return false;
}

bool says_finished(const std::optional<AgentReport>& report) {
  return report && std::ranges::any_of(report->workers, [](const WorkerReport& worker) {
           return worker.phase == WorkerPhase::kFinished;
         });
}

bool has_finished(const PodView& pod) { return pod.is_ours && says_finished(pod.termination_report); }

// The last step is done, by all: agents leave one after the other, and that is no trouble.
bool is_ending(const Observation& observation) {
  return std::ranges::any_of(observation.pods, has_finished) ||
         std::ranges::any_of(observation.agents, [](const auto& agent) { return says_finished(agent.second.report); });
}

std::chrono::milliseconds until(Time now, Time then) { return std::max(then - now, std::chrono::milliseconds(1)); }

}  // namespace

bool needs_agents(const kube::Json& job) {
  const kube::Json status = job.value("status", kube::Json::object());
  return !has_ended(status) && !kube::is_deleting(job) &&
         (!kube::bool_at(job, {"spec", "suspend"}) || is_saving(status));
}

Decision decide(const Observation& observation) { return JobDecision(observation).run(); }

Decision JobDecision::run() {
  const bool is_managed_elsewhere = observation_.job.spec && !observation_.job.spec->managed_by.empty();
  if (observation_.job.is_deleting || is_managed_elsewhere)
    return {};  // its children go with it, through their owner references
  if (has_ended(observation_.job.status)) return finished();

  if (!observation_.job.spec) {
    hold_unreadable(observation_.job.spec.error().message);
  } else if (!observation_.record_error.empty()) {
    hold_unreadable(observation_.record_error);
  } else if (has_completed()) {
    complete();
  } else if (is_past_deadline()) {
    fail_job("DeadlineExceeded", fmt::format("The job did not end within activeDeadlineSeconds: {:.0f}.",
                                             observation_.job.spec->active_deadline->value()));
  } else if (observation_.job.spec->suspend) {
    suspend();
  } else {
    train();
  }
  finish_status(observation_, record_, conditions_, decision_);
  return std::move(decision_);
}

void JobDecision::remove_running_pods() {
  for (const PodView& pod : observation_.pods) {
    if (pod.is_ours && !pod.has_ended()) remove_pod(pod);
  }
}

// A job that has ended keeps its pods' logs if it is complete; what still runs of a failed one is removed.
Decision JobDecision::finished() {
  remove_running_pods();
  if (!observation_.job.spec || !observation_.job.spec->ttl_after_finished) return std::move(decision_);
  const auto ended = parse_rfc3339(kube::text_at(observation_.job.status, {"completionTime"}));
  if (!ended) return std::move(decision_);
  const auto ttl =
      std::chrono::milliseconds(static_cast<long>(observation_.job.spec->ttl_after_finished->value() * 1000));
  if (observation_.now >= *ended + ttl) {
    decision_.actions.emplace_back(DeleteJob{});
  } else {
    requeue(until(observation_.now, *ended + ttl));
  }
  return std::move(decision_);
}

// Every pod of the generation has said its last word, and one of them that all steps are done.
bool JobDecision::has_completed() const {
  if (!record_ || !record_->is_committed()) return false;
  if (!std::ranges::any_of(observation_.pods, has_finished)) return false;
  return std::ranges::none_of(record_->members, [&](const Member& member) {
    const PodView* pod = find_pod(observation_, member.address.name);
    const bool is_going = pod != nullptr && pod->uid == member.pod_uid && !pod->has_ended() && !pod->is_deleting;
    return is_going && !member.leaves && observation_.cluster.find_node(member.node) != nullptr;
  });
}

bool JobDecision::someone_finished() const {
  const auto is_finished = [&](const WorkerReport& worker) {
    return worker.phase == WorkerPhase::kFinished && worker.generation == record_->generation;
  };
  return std::ranges::any_of(observation_.pods, [&](const PodView& pod) {
    const AgentView* agent = find_agent(observation_, pod);
    const bool said_so = agent != nullptr && agent->report && std::ranges::any_of(agent->report->workers, is_finished);
    return pod.is_ours &&
           (said_so || (pod.termination_report && std::ranges::any_of(pod.termination_report->workers, is_finished)));
  });
}

bool JobDecision::is_past_deadline() {
  const auto& deadline = observation_.job.spec->active_deadline;
  const auto start = parse_rfc3339(kube::text_at(observation_.job.status, {"startTime"}));
  if (!deadline || !start || observation_.job.spec->suspend) return false;
  const Time end = *start + std::chrono::milliseconds(static_cast<long>(deadline->value() * 1000));
  if (observation_.now >= end) return true;
  requeue(until(observation_.now, end));
  return false;
}

void JobDecision::complete() {
  conditions_.planned = yes("Planned", "The job ran to its end.");
  conditions_.pods_ready = no("Complete", "The pods have ended.");
  conditions_.running = no("Complete", "All steps are done.");
  conditions_.rescaling = no("Complete", "The job has ended.");
  conditions_.degraded = no("Complete", "The job has ended.");
  conditions_.suspended = no("NotSuspended", "spec.suspend is false.");
  conditions_.complete =
      yes("AllStepsDone", fmt::format("All {} steps are done.", observation_.job.spec->training.steps));
  conditions_.failed = no("Complete", "The job has not failed.");
  remove_running_pods();
}

void JobDecision::await_termination_reports() {
  const std::string message = "All steps are done; the pods are ending.";
  conditions_.planned = yes("Planned", message);
  conditions_.pods_ready = no("Ending", message);
  conditions_.running = yes("Ending", message);
  conditions_.rescaling = no("Ending", message);
  conditions_.degraded = no("Ending", message);
}

void JobDecision::fail_job(std::string reason, std::string message) {
  conditions_.planned = no(reason, "The job has failed.");
  conditions_.pods_ready = no(reason, "The job has failed.");
  conditions_.running = no(reason, "The job has failed.");
  conditions_.rescaling = no(reason, "The job has failed.");
  conditions_.degraded = no(reason, "The job has failed.");
  conditions_.suspended = no("NotSuspended", "spec.suspend is false.");
  conditions_.complete = no(reason, "The job has failed.");
  conditions_.failed = yes(std::move(reason), std::move(message));
  remove_running_pods();
}

void JobDecision::describe_suspension(bool has_pods) {
  const std::string message = "spec.suspend is true; set it to false to resume from the last checkpoint.";
  for (Condition* condition :
       {&conditions_.planned, &conditions_.pods_ready, &conditions_.running, &conditions_.rescaling,
        &conditions_.degraded, &conditions_.complete, &conditions_.failed}) {
    *condition = no("Suspended", message);
  }
  conditions_.suspended = has_pods ? no("Stopping", "Waiting for the job's pods to end.") : yes("Suspended", message);
}

void JobDecision::hold_unreadable(const std::string& message) {
  conditions_.planned = no("InvalidSpec", message);
  for (Condition* condition :
       {&conditions_.pods_ready, &conditions_.running, &conditions_.rescaling, &conditions_.degraded,
        &conditions_.suspended, &conditions_.complete, &conditions_.failed}) {
    *condition = no("InvalidSpec", "The job cannot be read; see the condition Planned.");
  }
}

// One step of training's upkeep: what is wrong first, then what could be better; then the pods and assignments.
void JobDecision::train() {
  conditions_.suspended = no("NotSuspended", "spec.suspend is false.");
  conditions_.complete = no("StepsRemain", "There are steps to be done.");
  conditions_.failed = no("NotFailed", "The job has not failed.");
  if (record_) await_end_of_quarantine();
  if (is_ending(observation_)) {
    await_termination_reports();
    return;
  }
  if (!record_) {
    start_first();
  } else if (record_->releases_gpus) {
    tend_released();
  } else if (record_->running) {
    watch_joining_pods();
  } else if (const auto failure = find_uncounted_failure(observation_)) {
    count_failure(*failure);
    if (conditions_.failed.truth == Truth::kTrue) return;
  } else if (someone_finished()) {
    // All steps are done: pods that end now are no loss, and no other generation is needed.
  } else if (const auto disruption = find_disruption(observation_, *record_)) {
    answer_disruption(*disruption);
  } else if (record_->job_generation != observation_.job.generation) {
    follow_spec();
  } else {
    use_new_capacity();
  }
  if (record_) carry_out();
  describe_generation();
}

}  // namespace sailor
