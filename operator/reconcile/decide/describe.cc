// What the conditions say of a job that trains or is to train.
#include <algorithm>

#include <fmt/format.h>

#include "operator/reconcile/decide/job_decision.h"

namespace sailor {
namespace {

std::string count_of(std::ptrdiff_t count, const char* thing) {
  return fmt::format("{} {}{}", count, thing, count == 1 ? "" : "s");
}

Condition planned(const GenerationRecord& record) {
  return yes("Planned", fmt::format("Generation {} uses {} of {} in {}: {}", record.generation,
                                    count_of(gpu_count(record.plan), "GPU"),
                                    count_of(std::ssize(gpus_by_pool(record.plan)), "pool"),
                                    count_of(std::ssize(record.placement.slots), "pod"), record.message));
}

void set_if_open(Condition& condition, Condition value) {
  if (condition.truth == Truth::kUnknown) condition = std::move(value);
}

// What a worker that trains complains of: most often that it can write no checkpoint; empty: nothing is wrong.
std::string problem_of_workers(const Observation& observation) {
  for (const auto& [uid, agent] : observation.agents) {
    if (!agent.answers()) continue;
    for (const WorkerReport& worker : agent.report->workers) {
      if (worker.phase == WorkerPhase::kTraining && !worker.message.empty()) return worker.message;
    }
  }
  return {};
}

bool any_trains(const Observation& observation) {
  return std::ranges::any_of(observation.pods, [&](const PodView& pod) {
    const AgentView* agent = find_agent(observation, pod);
    return pod.is_ours && !pod.has_ended() && agent != nullptr && agent->answers() &&
           std::ranges::any_of(agent->report->workers,
                               [](const WorkerReport& worker) { return worker.phase == WorkerPhase::kTraining; });
  });
}

Condition degraded(const GenerationRecord& record, bool trains, const std::string& problem_of_workers) {
  if (!record.last_failure.empty() && !trains) {
    return yes("TrainerFailed", fmt::format("Restart {}: {}", record.restarts, record.last_failure));
  }
  if (!problem_of_workers.empty()) {
    return yes("WorkerReportsTrouble", fmt::format("A worker says: {}", problem_of_workers));
  }
  const int gpus = gpu_count(record.plan);
  const bool was_planned = is_voluntary(record.reason) || record.reason == "Resumed";
  if (!was_planned && gpus < record.from_gpus) {
    return yes(record.reason, fmt::format("Trains on {} GPUs after {}: {}.", gpus, record.from_gpus, record.message));
  }
  return no("AsPlanned", "Nothing is missing.");
}

}  // namespace

// The first pod that keeps the generation from its start, and why; empty: all answer.
std::string JobDecision::first_missing() const {
  for (const Slot& slot : record_->placement.slots) {
    const PodView* pod = find_pod(observation_, slot.pod);
    if (pod == nullptr || !pod->is_ours) return fmt::format("Pod {} is not there yet.", slot.pod);
    if (pod->is_deleting || pod->has_ended()) return fmt::format("Pod {} has ended and will be replaced.", slot.pod);
    if (!pod->waiting.empty()) return fmt::format("Pod {}: {}", slot.pod, pod->waiting);
    const AgentView* agent = find_agent(observation_, *pod);
    if (agent == nullptr || !agent->answers()) return fmt::format("The agent of pod {} does not answer.", slot.pod);
  }
  return {};
}

void JobDecision::describe_released() {
  const std::string message = released_words();
  set_if_open(conditions_.planned, no(record_->reason, message));
  conditions_.pods_ready = no("Parked", message);
  conditions_.running = no("Parked", message);
  conditions_.rescaling = is_saving() ? yes(record_->reason, message) : no("Parked", message);
  conditions_.degraded = no("Parked", message);
}

void JobDecision::describe_generation() {
  if (!record_) {
    set_if_open(conditions_.planned, no("Planning", "The planner is looking for the best plan."));
    for (Condition* condition :
         {&conditions_.pods_ready, &conditions_.running, &conditions_.rescaling, &conditions_.degraded}) {
      *condition = no("NotPlanned", "There is no plan yet; see the condition Planned.");
    }
    return;
  }
  if (conditions_.failed.truth == Truth::kTrue) return;
  if (record_->releases_gpus) {
    describe_released();
    return;
  }
  set_if_open(conditions_.planned, planned(*record_));
  const bool trains_newest = trains() || someone_finished();
  const std::string missing = first_missing();
  conditions_.pods_ready =
      missing.empty() ? yes("AllAnswer", "The agents of all pods answer.") : no("PodsPending", missing);
  if (!fence_.empty()) conditions_.pods_ready = no("OlderGenerationMayTrain", fence_);
  if (trains_newest || any_trains(observation_)) {
    conditions_.running = yes("Training", "The workers train.");
  } else {
    conditions_.running = record_->last_failure.empty() ? no("Starting", "The workers do not train yet.")
                                                        : no("TrainerFailed", record_->last_failure);
  }
  const bool is_change = record_->from_generation > 0;
  if (is_change && !trains_newest) {
    conditions_.rescaling = yes(record_->reason, fmt::format("From generation {} to {}: {}", record_->from_generation,
                                                             record_->generation, record_->message));
  } else {
    conditions_.rescaling = no("Settled", "The newest generation is the one that trains.");
  }
  conditions_.degraded = degraded(*record_, trains_newest, problem_of_workers(observation_));
}

}  // namespace sailor
