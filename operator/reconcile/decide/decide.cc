// The life of a job, from the top: ended, unreadable, complete, failed, suspended, or to be trained.
#include <algorithm>

#include <fmt/format.h>

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

bool has_finished(const PodView& pod) { return pod.is_ours && says_finished(pod.last_word); }

// The last step is done, by all: agents leave one after the other, and that is no trouble.
bool is_ending(const Observation& seen) {
  return std::ranges::any_of(seen.pods, has_finished) ||
         std::ranges::any_of(seen.agents, [](const auto& agent) { return says_finished(agent.second.report); });
}

std::chrono::milliseconds until(Time now, Time then) { return std::max(then - now, std::chrono::milliseconds(1)); }

}  // namespace

bool needs_agents(const kube::Json& job) {
  const kube::Json status = job.value("status", kube::Json::object());
  return !has_ended(status) && !kube::is_deleting(job) &&
         (!kube::bool_at(job, {"spec", "suspend"}) || is_saving(status));
}

Decision decide(const Observation& seen) { return JobDecision(seen).run(); }

Decision JobDecision::run() {
  const bool is_managed_elsewhere = seen_.job.spec && !seen_.job.spec->managed_by.empty();
  if (seen_.job.is_deleting || is_managed_elsewhere)
    return {};  // its children go with it, through their owner references
  if (has_ended(seen_.job.status)) return finished();

  if (!seen_.job.spec) {
    hold_unreadable(seen_.job.spec.error().message);
  } else if (!seen_.record_fault.empty()) {
    hold_unreadable(seen_.record_fault);
  } else if (has_completed()) {
    complete();
  } else if (is_past_deadline()) {
    fail_job("DeadlineExceeded", fmt::format("The job did not end within activeDeadlineSeconds: {:.0f}.",
                                             seen_.job.spec->active_deadline->value()));
  } else if (seen_.job.spec->suspend) {
    hold_suspended();
  } else {
    train();
  }
  finish_status(seen_, record_, conditions_, decision_);
  return std::move(decision_);
}

void JobDecision::remove_running_pods() {
  for (const PodView& pod : seen_.pods) {
    if (pod.is_ours && !pod.has_ended()) remove_pod(pod);
  }
}

// A job that has ended keeps its pods' logs if it is complete; what still runs of a failed one is removed.
Decision JobDecision::finished() {
  remove_running_pods();
  if (!seen_.job.spec || !seen_.job.spec->ttl_after_finished) return std::move(decision_);
  const auto ended = parse_rfc3339(kube::text_at(seen_.job.status, {"completionTime"}));
  if (!ended) return std::move(decision_);
  const auto ttl = std::chrono::milliseconds(static_cast<long>(seen_.job.spec->ttl_after_finished->value() * 1000));
  if (seen_.now >= *ended + ttl) {
    decision_.actions.emplace_back(DeleteJob{});
  } else {
    requeue(until(seen_.now, *ended + ttl));
  }
  return std::move(decision_);
}

// Every pod of the generation has said its last word, and one of them that all steps are done.
bool JobDecision::has_completed() const {
  if (!record_ || !record_->is_sealed()) return false;
  if (!std::ranges::any_of(seen_.pods, has_finished)) return false;
  return std::ranges::none_of(record_->members, [&](const Member& member) {
    const PodView* pod = find_pod(seen_, member.address.name);
    const bool is_going = pod != nullptr && pod->uid == member.pod_uid && !pod->has_ended() && !pod->is_deleting;
    return is_going && !member.leaves && seen_.cluster.find_node(member.node) != nullptr;
  });
}

bool JobDecision::someone_finished() const {
  const auto is_finished = [&](const WorkerReport& worker) {
    return worker.phase == WorkerPhase::kFinished && worker.generation == record_->generation;
  };
  return std::ranges::any_of(seen_.pods, [&](const PodView& pod) {
    const AgentView* agent = find_agent(seen_, pod);
    const bool said_so = agent != nullptr && agent->report && std::ranges::any_of(agent->report->workers, is_finished);
    return pod.is_ours && (said_so || (pod.last_word && std::ranges::any_of(pod.last_word->workers, is_finished)));
  });
}

bool JobDecision::is_past_deadline() {
  const auto& deadline = seen_.job.spec->active_deadline;
  const auto start = parse_rfc3339(kube::text_at(seen_.job.status, {"startTime"}));
  if (!deadline || !start || seen_.job.spec->suspend) return false;
  const Time end = *start + std::chrono::milliseconds(static_cast<long>(deadline->value() * 1000));
  if (seen_.now >= end) return true;
  requeue(until(seen_.now, end));
  return false;
}

void JobDecision::complete() {
  conditions_.planned = yes("Planned", "The job ran to its end.");
  conditions_.pods_ready = no("Complete", "The pods have ended.");
  conditions_.running = no("Complete", "All steps are done.");
  conditions_.rescaling = no("Complete", "The job has ended.");
  conditions_.degraded = no("Complete", "The job has ended.");
  conditions_.suspended = no("NotSuspended", "spec.suspend is false.");
  conditions_.complete = yes("AllStepsDone", fmt::format("All {} steps are done.", seen_.job.spec->training.steps));
  conditions_.failed = no("Complete", "The job has not failed.");
  remove_running_pods();
}

void JobDecision::await_last_words() {
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
  if (record_) await_suspects();
  if (is_ending(seen_)) {
    await_last_words();
    return;
  }
  if (!record_) {
    start_first();
  } else if (record_->parks) {
    tend_parked();
  } else if (record_->running) {
    watch_newcomers();
  } else if (const auto failure = find_uncounted_failure(seen_)) {
    count_failure(*failure);
    if (conditions_.failed.truth == Truth::kTrue) return;
  } else if (someone_finished()) {
    // All steps are done: pods that end now are no loss, and no other generation is needed.
  } else if (const auto trouble = find_trouble(seen_, *record_)) {
    answer_trouble(*trouble);
  } else if (record_->job_generation != seen_.job.generation) {
    follow_spec();
  } else {
    use_new_capacity();
  }
  if (record_) carry_out();
  describe_generation();
}

}  // namespace sailor
