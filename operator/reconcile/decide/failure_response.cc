#include "operator/reconcile/decide/failure_response.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/model/counted.h"
#include "operator/model/observation_queries.h"
#include "operator/reconcile/decide/failed_job.h"
#include "operator/reconcile/decide/next_generation.h"
#include "operator/reconcile/decide/quarantine.h"
#include "operator/reconcile/decide/trainer_failures.h"

namespace sailor {
namespace {

// Returns whether the pod was created for the newest generation, to join older pods: the generation is not the job's
// first, and did not restart the job with new pods.
bool is_joining(const Observation& observation, const std::string& name) {
  const PodView* pod = find_pod(observation, name);
  const GenerationRecord& record = observation.record.value();
  return pod != nullptr && record.from_generation > 0 && pod->created_for_generation == record.generation &&
         record.min_pod_generation < record.generation;
}

// The same for a pod that was left behind: it was told of no later generation than the one that it was to join.
bool never_trained(const Observation& observation, const std::string& name) {
  const PodView* pod = find_pod(observation, name);
  const auto& notified = observation.record.value().notified;
  const auto found = pod == nullptr ? notified.end() : notified.find(pod->uid);
  if (found == notified.end() || found->second > pod->created_for_generation) return false;
  return std::ranges::any_of(observation.pods, [&](const PodView& other) {
    return other.is_ours && !other.has_ended() && other.created_for_generation < pod->created_for_generation;
  });
}

GenerationRecord count(GenerationRecord record, const TrainerFailure& failure) {
  ++record.restarts;
  record.last_failure = failure.message;
  return record;
}

// Returns nothing if the remaining pods cannot continue alone. Until the planner has answered, the result only asks it.
std::optional<PolicyResult> continue_without(const Observation& observation, const TrainerFailure& failure,
                                             bool counts) {
  if (observation.job.spec->elasticity != ElasticityMode::kLive) return std::nullopt;
  const NodeQuery query{NodeScope::kSurvivors, {failure.pod}, false};
  const auto survivors = usable_nodes(observation, query);
  if (survivors.empty()) return std::nullopt;
  const PlanLookup lookup = look_up_plan(observation, survivors, observation.record.value().plan);
  if (lookup.has_no_plan()) return std::nullopt;
  if (!lookup.has_plan()) {
    PolicyResult result = ask_planner(lookup);
    result.keeps_ended_pods = true;
    return result;
  }
  GenerationRecord before = counts ? count(observation.record.value(), failure) : observation.record.value();
  const std::chrono::milliseconds pause = counts ? restart_delay(before.restarts) : observation.settings.start_limit;
  quarantine(before, {{node_uid_of_pod(observation, failure.pod), Time(), observation.now + pause}});
  const Cause cause{counts ? Reason::kTrainerFailed : Reason::kJoiningPodFailed,
                    fmt::format("Pod {} failed: {}", failure.pod, failure.message)};
  PolicyResult result = adopt_plan(observation, before, *lookup.answer, query, cause);
  return result.record ? std::optional(std::move(result)) : std::nullopt;
}

// Returns whether the GPUs of a slot are there for a new pod. Those of a pod that has ended belong to nobody until its
// job claims them again, so another job may have planned with them.
bool is_still_free(const Observation& observation, const Slot& slot) {
  const PodView* pod = find_pod(observation, slot.pod);
  const NodeView* node = observation.cluster->find_node(slot.node);
  if ((pod != nullptr && !pod->has_ended()) || node == nullptr) return true;
  return node->gpus_left_to(observation.job.uid) >= slot.gpus;
}

PolicyResult restart(const Observation& observation, const TrainerFailure& failure) {
  const GenerationRecord& record = observation.record.value();
  const bool has_room =
      std::ranges::all_of(record.placement.slots, [&](const Slot& slot) { return is_still_free(observation, slot); });
  if (!has_room) {
    GenerationRecord before = count(record, failure);
    before.not_before = observation.now + restart_delay(before.restarts);
    return save_and_release_gpus(observation, before, {Reason::kTrainerFailed, failure.message});
  }
  GenerationRecord next =
      count(next_generation(observation, observation.record, {Reason::kTrainerFailed, failure.message}), failure);
  next.not_before = observation.now + restart_delay(next.restarts);
  return begin_generation(observation, std::move(next));
}

PolicyResult fail_after_restarts(const Observation& observation, const TrainerFailure& failure) {
  return fail_job(observation, Reason::kTrainerFailed,
                  fmt::format("Pod {} failed after {}: {}", failure.pod,
                              counted(observation.record.value().restarts, "restart"), failure.message));
}

bool may_restart(const Observation& observation) {
  return observation.record.value().restarts < observation.job.spec->max_restarts;
}

// Returns whether the last failure was counted a moment ago. Pods that fail together become known one after the other.
bool has_just_counted(const GenerationRecord& record, Time now) {
  constexpr std::chrono::seconds kTogether{10};
  return now < record.not_before - restart_delay(record.restarts) + kTogether;
}

}  // namespace

std::optional<PolicyResult> count_late_failure(const Observation& observation) {
  const auto failure = find_late_failure(observation);
  if (!failure) return std::nullopt;
  GenerationRecord record = observation.record.value();
  const std::string node = node_uid_of_pod(observation, failure->pod);
  end_unanswering(record, node);
  PolicyResult result;
  if (never_trained(observation, failure->pod)) {
    quarantine(record, {{node, Time(), observation.now + observation.settings.start_limit}});
  } else if (!has_just_counted(record, observation.now)) {
    if (!may_restart(observation)) return fail_after_restarts(observation, *failure);
    record = count(std::move(record), *failure);
    record.not_before = observation.now + restart_delay(record.restarts);
    result.events.push_back(
        {true, Reason::kTrainerFailed, fmt::format("Pod {} failed: {}", failure->pod, failure->message)});
  }
  write_record(result, std::move(record));
  return result;
}

std::optional<PolicyResult> respond_to_trainer_failure(const Observation& observation) {
  const auto failure = find_uncounted_failure(observation);
  if (!failure) return std::nullopt;
  const bool counts = !is_joining(observation, failure->pod);
  if (!counts) {
    if (auto result = continue_without(observation, *failure, false)) return result;
  }
  if (!may_restart(observation)) return fail_after_restarts(observation, *failure);
  if (counts) {
    if (auto result = continue_without(observation, *failure, true)) return result;
  }
  return restart(observation, *failure);
}

}  // namespace sailor
