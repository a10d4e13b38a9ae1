#include "operator/reconcile/decide/suspension.h"

#include <fmt/format.h>

#include "operator/reconcile/decide/next_generation.h"
#include "operator/reconcile/decide/run_generation.h"
#include "operator/reconcile/decide/saving.h"

namespace sailor {
namespace {

// Returns what the job will do once it is resumed.
std::string when_resumed(const Observation& observation, bool is_being_saved) {
  if (!observation.record) return "starts";
  const JobSpec& job = *observation.job.spec;
  if (job.checkpoint.path.empty())
    return fmt::format("starts again {}, because spec.checkpoint.path is not set", where_it_starts(job));
  const bool has_checkpoint = is_being_saved || newest_checkpoint(observation) > 0;
  if (has_checkpoint) return "continues from its last checkpoint";
  return fmt::format("starts again {}, because it has no checkpoint of its own yet", where_it_starts(job));
}

std::string message_of(const Observation& observation, bool is_being_saved) {
  if (const std::string& fault = observation.job.spec_fault; !fault.empty()) {
    return fmt::format("spec.suspend is true. The spec is invalid; change it before you set suspend to false: {}",
                       fault);
  }
  return fmt::format("spec.suspend is true. When you set it to false, the job {}.",
                     when_resumed(observation, is_being_saved));
}

// Begins a generation that releases the GPUs, unless the newest one does, and drives it forward.
PolicyResult release(const Observation& observation, const GenerationRecord& record) {
  PolicyResult result;
  if (!record.releases_gpus) {
    result = save_and_release_gpus(observation, record, {Reason::kSuspended, "spec.suspend is true."});
  }
  const GenerationRecord releasing = result.record.value_or(record);
  if (has_failed_to_save(observation, releasing) || is_saving(observation, releasing)) {
    merge(result, retry_save(observation, releasing));
  }
  merge(result, run_generation(observation, result.record.value_or(record), false));
  return result;
}

bool may_still_save(const Observation& observation, const GenerationRecord& record) {
  const bool may_try_again = has_failed_to_save(observation, record) && !may_release_unsaved(observation, record);
  return is_saving(observation, record) || may_try_again;
}

// Returns whether a job with spec.suspend may still have to save its state.
bool is_saving(const JobStatus& status) {
  const ConditionStatus* suspended = status.find(ConditionType::kSuspended);
  if (suspended == nullptr) return false;
  // The last two mean that no decision has been made since the spec has changed.
  const Reason reason = suspended->condition.reason;
  return reason == Reason::kSaving || reason == Reason::kNotSuspended || reason == Reason::kInvalidSpec;
}

}  // namespace

std::optional<PolicyResult> suspend_job(const Observation& observation) {
  if (!observation.job.spec->suspend) return std::nullopt;
  PolicyResult result;
  if (observation.record) result = release(observation, *observation.record);
  result.is_final = true;
  const auto& record = result.record ? result.record : observation.record;
  const bool waits = record && may_still_save(observation, *record);
  bool has_pods = false;
  for (const PodView& pod : observation.pods) {
    if (!pod.is_ours) continue;
    has_pods = true;
    if (!waits) remove_pod(result, pod);
  }
  using enum ConditionType;
  const std::string message = message_of(observation, waits);
  set_conditions(result, {kPlanned, kPodsReady, kRunning, kRescaling, kDegraded, kComplete, kFailed},
                 no(Reason::kSuspended, message));
  result.conditions[kSuspended] =
      has_pods ? no(Reason::kStopping, "Waiting for the job's pods to end.") : yes(Reason::kSuspended, message);
  if (waits) {
    result.conditions[kSuspended] = no(Reason::kSaving, "The state is being saved before the pods end.");
    requeue(result, kSaveLimit);
  }
  return result;
}

bool needs_agents(const kube::Json& job) {
  const JobStatus status = job_status_from_json(job.value("status", kube::Json::object()));
  return !status.has_ended() && !kube::is_deleting(job) &&
         (!kube::bool_at(job, {"spec", "suspend"}) || is_saving(status));
}

}  // namespace sailor
