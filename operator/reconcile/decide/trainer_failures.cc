#include "operator/reconcile/decide/trainer_failures.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/protocol/exit_status.h"
#include "operator/model/observation_queries.h"
#include "operator/reconcile/decide/quarantine.h"

namespace sailor {
namespace {

// The reasons with which the kubelet or a controller ends a pod. None of them is a failure of the trainer.
constexpr std::array<std::string_view, 9> kOutside = {"Evicted",
                                                      "NodeShutdown",
                                                      "Terminated",
                                                      "Preempting",
                                                      "NodeLost",
                                                      "Shutdown",
                                                      "NodeAffinity",
                                                      "UnexpectedAdmissionError",
                                                      "ContainerStatusUnknown"};

bool was_unresponsive(const PodView& pod) {
  return pod.phase == PodPhase::kFailed && pod.exit_code == kExitWorkerUnresponsive && pod.termination_report;
}

std::int64_t furthest_step(const AgentReport& report) {
  std::int64_t furthest = 0;
  for (const WorkerReport& worker : report.workers) furthest = std::max(furthest, worker.step);
  return furthest;
}

bool is_fault_of_trainer(const Observation& observation, const PodView& pod) {
  if (pod.phase != PodPhase::kFailed || pod.is_deleting) return false;
  if (std::ranges::find(kOutside, pod.status_reason) != kOutside.end()) return false;
  if (pod.termination_report && pod.termination_report->is_terminating) return false;
  if (is_fault_of_machine(observation.record.value(), pod)) return false;
  const NodeView* node = observation.cluster->find_node(pod.node);
  return node != nullptr && !node->is_terminating;
}

// Returns whether the pod belongs to the newest generation. The failure of a pod of an older generation is part of the
// failure that was counted when that generation was replaced.
bool belongs_to_newest(const GenerationRecord& record, const PodView& pod) {
  const bool is_member =
      std::ranges::any_of(record.members, [&](const Member& member) { return member.pod_uid == pod.uid; });
  return is_member || pod.created_for_generation == record.generation;
}

std::string message_of(const PodView& pod) {
  if (pod.termination_report) {
    for (const WorkerReport& worker : pod.termination_report->workers) {
      if (worker.phase == WorkerPhase::kFailed && !worker.message.empty()) return worker.message;
    }
  }
  if (!pod.termination_message.empty()) return pod.termination_message;
  return fmt::format("the trainer ended with exit code {}; see `kubectl logs {}`", pod.exit_code, pod.name);
}

// Returns when the job went on without the pod because it did not answer. Nothing: it did not.
std::optional<Time> left_behind_at(const Observation& observation, const GenerationRecord& record, const PodView& pod) {
  const NodeView* node = observation.cluster->find_node(pod.node);
  const auto since = node == nullptr ? std::nullopt : unanswering_since(record, node->uid);
  return since && pod.created <= *since ? since : std::nullopt;
}

}  // namespace

std::optional<TrainerFailure> find_uncounted_failure(const Observation& observation) {
  for (const PodView& pod : observation.pods) {
    if (!pod.is_ours || !is_fault_of_trainer(observation, pod) || !belongs_to_newest(observation.record.value(), pod))
      continue;
    return TrainerFailure{pod.name, message_of(pod)};
  }
  return std::nullopt;
}

std::optional<TrainerFailure> find_late_failure(const Observation& observation) {
  const GenerationRecord& record = observation.record.value();
  for (const PodView& pod : observation.pods) {
    if (!pod.is_ours || !left_behind_at(observation, record, pod)) continue;
    if (is_fault_of_trainer(observation, pod)) return TrainerFailure{pod.name, message_of(pod)};
  }
  return std::nullopt;
}

std::optional<Time> awaits_its_kubelet_until(const Observation& observation, const GenerationRecord& record,
                                             const PodView& pod) {
  constexpr std::chrono::seconds kKubeletLimit{10};
  const AgentView* agent = find_agent(observation, pod);
  const NodeView* node = observation.cluster->find_node(pod.node);
  if (node == nullptr || !node->is_ready || (agent != nullptr && agent->answers())) return std::nullopt;
  const auto since = left_behind_at(observation, record, pod);
  return since && *since + kKubeletLimit > observation.now ? std::optional(*since + kKubeletLimit) : std::nullopt;
}

bool is_fault_of_machine(const GenerationRecord& record, const PodView& pod) {
  return was_unresponsive(pod) && furthest_step(pod.termination_report.value()) > record.unresponsive_at_step;
}

std::int64_t furthest_unresponsive_step(const Observation& observation) {
  std::int64_t furthest = 0;
  for (const PodView& pod : observation.pods) {
    if (pod.is_ours && was_unresponsive(pod))
      furthest = std::max(furthest, furthest_step(pod.termination_report.value()));
  }
  return furthest;
}

std::chrono::milliseconds restart_delay(int restarts) {
  constexpr std::chrono::milliseconds kFirst = std::chrono::seconds(1);
  constexpr std::chrono::milliseconds kLimit = std::chrono::minutes(5);
  return restarts > 9 ? kLimit : std::min(kLimit, kFirst * (1 << std::max(0, restarts - 1)));
}

}  // namespace sailor
