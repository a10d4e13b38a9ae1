#include "operator/reconcile/observe/pod_view.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include <fmt/format.h>

#include "core/model/cut_text.h"
#include "core/model/parse_number.h"
#include "core/protocol/exit_status.h"
#include "operator/model/names.h"

namespace sailor {
namespace {

using kube::Json;
using kube::text_at;

constexpr std::size_t kLongestStartFailure = 500;  // it may repeat the output of a driver

constexpr std::array<std::string_view, 7> kStartFailureReasons = {
    "FailedAttachVolume",       "FailedMapVolume",        "FailedMount",
    "FailedCreatePodContainer", "FailedCreatePodSandBox", "FailedPrepareDynamicResources",
    "NetworkNotReady"};

PodPhase phase_of(const Json& pod) {
  const std::string phase = text_at(pod, {"status", "phase"});
  if (phase == "Running") return PodPhase::kRunning;
  if (phase == "Succeeded") return PodPhase::kSucceeded;
  if (phase == "Failed") return PodPhase::kFailed;
  return PodPhase::kPending;
}

const Json* trainer_status(const Json& pod) {
  for (const Json& container : kube::list_at(pod, {"status", "containerStatuses"})) {
    if (text_at(container, {"name"}) == kTrainerContainer) return &container;
  }
  return nullptr;
}

void read_end(const Json& terminated, PodView& view) {
  view.exit_code = static_cast<int>(kube::integer_at(terminated, {"exitCode"}));
  const std::string message = text_at(terminated, {"message"});
  const Json json = Json::parse(message, nullptr, false);
  if (auto report = json.is_object() ? agent_report_from_json(json) : fail(ErrorCode::kNotFound, "")) {
    view.termination_report = std::move(*report);
    return;
  }
  view.termination_message = message;
  const std::string reason = text_at(terminated, {"reason"});
  // The kubelet has lost the container: its machine was restarted, or replaced by another one of the same name.
  if (reason == "ContainerStatusUnknown" && view.status_reason.empty()) view.status_reason = reason;
  const bool is_informative = !reason.empty() && reason != "Error" && reason != "Completed";
  if (view.termination_message.empty() && is_informative) {
    view.termination_message = fmt::format("the trainer was ended: {} (exit code {})", reason, view.exit_code);
  }
}

// Returns why a pod does not start, as its container status or the scheduler reports it.
std::string waiting_of(const Json& pod, const Json* trainer) {
  if (trainer != nullptr) {
    const std::string reason = text_at(*trainer, {"state", "waiting", "reason"});
    const std::string message = text_at(*trainer, {"state", "waiting", "message"});
    if (!reason.empty()) return message.empty() ? fmt::format("{}.", reason) : fmt::format("{}: {}", reason, message);
  }
  const Json* scheduled = kube::find_condition(pod, "PodScheduled");
  const bool is_unscheduled = scheduled != nullptr && text_at(*scheduled, {"status"}) == "False";
  return is_unscheduled ? text_at(*scheduled, {"message"}) : "";
}

std::optional<Time> bound_at(const Json& pod) {
  const Json* scheduled = kube::find_condition(pod, "PodScheduled");
  if (scheduled == nullptr || text_at(*scheduled, {"status"}) != "True") return std::nullopt;
  return parse_rfc3339(text_at(*scheduled, {"lastTransitionTime"}));
}

}  // namespace

PodView pod_view(const Json& pod, const std::string& job_uid) {
  PodView view;
  view.name = kube::name_of(pod);
  view.uid = kube::uid_of(pod);
  view.node = text_at(pod, {"spec", "nodeName"});
  if (view.node.empty()) view.node = kube::annotation_of(pod, kNodeAnnotation);
  view.ip = text_at(pod, {"status", "podIP"});
  view.phase = phase_of(pod);
  view.is_deleting = kube::is_deleting(pod);
  view.killed_at = parse_rfc3339(text_at(pod, {"metadata", "deletionTimestamp"}));
  view.is_ours = kube::controller_uid(pod) == job_uid;
  view.status_reason = text_at(pod, {"status", "reason"});
  const Json* trainer = trainer_status(pod);
  view.waiting = view.phase == PodPhase::kPending ? waiting_of(pod, trainer) : "";
  view.bound_at = bound_at(pod);
  const Json* terminated = trainer == nullptr ? nullptr : kube::find_at(*trainer, {"state", "terminated"});
  if (terminated != nullptr) read_end(*terminated, view);
  if (const Json* spec = kube::find_at(pod, {"spec"})) view.gpus = gpus_asked_for(*spec);
  view.pool = parse_pool_key(kube::annotation_of(pod, kPoolAnnotation)).value_or(PoolKey{});
  view.created_for_generation = parse_number<std::int64_t>(kube::annotation_of(pod, kCreatedForAnnotation)).value_or(0);
  view.created = kube::created_at(pod);
  return view;
}

bool is_start_failure(std::string_view reason) {
  return std::ranges::find(kStartFailureReasons, reason) != kStartFailureReasons.end();
}

// A container that has another problem has its volumes and its network.
void note_start_failures(PodView& pod, const std::vector<kube::Object>& events) {
  const bool may_lack_something = pod.waiting.empty() || pod.waiting.starts_with("ContainerCreating");
  if (pod.phase != PodPhase::kPending || !may_lack_something || events.empty()) return;
  const auto newest =
      std::ranges::max_element(events, {}, [](const kube::Object& event) { return kube::event_time(*event); });
  pod.waiting += fmt::format("{}{} at {}: {}", pod.waiting.empty() ? "" : " ", text_at(**newest, {"reason"}),
                             to_rfc3339(kube::event_time(**newest)),
                             cut_text(text_at(**newest, {"message"}), kLongestStartFailure));
}

void note_end(PodView& pod, const AgentReport& report) {
  if (pod.has_ended() || !report.exit_status) return;
  pod.is_ending = true;
  pod.phase = *report.exit_status == kExitDone ? PodPhase::kSucceeded : PodPhase::kFailed;
  pod.exit_code = *report.exit_status;
  pod.termination_report = report;
}

}  // namespace sailor
