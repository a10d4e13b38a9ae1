#include "operator/reconcile/decide/failure_response.h"

#include <fmt/format.h>

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

PolicyResult restart(const Observation& observation, const TrainerFailure& failure) {
  GenerationRecord next =
      count(next_generation(observation, observation.record, {Reason::kTrainerFailed, failure.message}), failure);
  next.not_before = observation.now + restart_delay(next.restarts);
  return begin_generation(observation, std::move(next));
}

}  // namespace

std::optional<PolicyResult> respond_to_trainer_failure(const Observation& observation) {
  const auto failure = find_uncounted_failure(observation);
  if (!failure) return std::nullopt;
  const bool counts = !is_joining(observation, failure->pod);
  if (!counts) {
    if (auto result = continue_without(observation, *failure, false)) return result;
  }
  const int restarts = observation.record.value().restarts;
  if (restarts >= observation.job.spec->max_restarts) {
    return fail_job(observation, Reason::kTrainerFailed,
                    fmt::format("Pod {} failed after {} restarts: {}", failure->pod, restarts, failure->message));
  }
  if (counts) {
    if (auto result = continue_without(observation, *failure, true)) return result;
  }
  return restart(observation, *failure);
}

}  // namespace sailor
