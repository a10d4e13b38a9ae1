#include "operator/reconcile/decide/saving.h"

#include <algorithm>

#include <fmt/format.h>

#include "operator/model/observation_queries.h"
#include "operator/reconcile/decide/disruption.h"
#include "operator/reconcile/decide/next_generation.h"

namespace sailor {
namespace {

std::string message_of(const AgentView& agent) {
  for (const WorkerReport& worker : agent.report.value().workers) {
    if (!worker.message.empty()) return worker.message;
  }
  return "no reason is known";
}

bool has_checkpoint_folder(const Observation& observation) { return !observation.job.spec->checkpoint.path.empty(); }

bool may_hold_state(const PodView& pod, const AgentView* agent) {
  const bool is_known_to_hold_none = agent != nullptr && agent->report && !holds_state(*agent);
  return pod.is_ours && !pod.has_ended() && !pod.ip.empty() && !is_known_to_hold_none;
}

}  // namespace

bool can_save(const Observation& observation) {
  return has_checkpoint_folder(observation) && std::ranges::any_of(observation.pods, [&](const PodView& pod) {
           const AgentView* agent = find_agent(observation, pod);
           return pod.is_ours && !pod.has_ended() && agent != nullptr && holds_state(*agent);
         });
}

bool may_hold_state(const Observation& observation) {
  return std::ranges::any_of(observation.pods,
                             [&](const PodView& pod) { return may_hold_state(pod, find_agent(observation, pod)); });
}

bool may_release_unsaved(const Observation& observation, const GenerationRecord& record) {
  const bool has_time_passed = observation.now - record.decided_at >= kSaveLimit;
  return record.releases_gpus && (!has_checkpoint_folder(observation) || has_time_passed);
}

bool is_saving(const Observation& observation, const GenerationRecord& record) {
  constexpr int kGivenUp = 3;  // after this number of unanswered polls, the save does not wait for the pod
  if (may_release_unsaved(observation, record) || has_failed_to_save(observation, record)) return false;
  return std::ranges::any_of(observation.pods, [&](const PodView& pod) {
    const AgentView* agent = find_agent(observation, pod);
    const bool is_given_up = agent != nullptr && agent->unanswered_polls >= kGivenUp;
    return may_hold_state(pod, agent) && !is_given_up && !record.unreachable_pods.contains(pod.uid);
  });
}

bool has_failed_to_save(const Observation& observation, const GenerationRecord& record) {
  return std::ranges::any_of(observation.agents,
                             [&](const auto& agent) { return is_broken(agent.second, record.generation); });
}

PolicyResult retry_save(const Observation& observation, const GenerationRecord& record) {
  if (may_release_unsaved(observation, record)) return {};
  const auto disruption = find_disruption(observation, record);
  if (!disruption) return {};
  GenerationRecord next = record;
  next.unreachable_pods.insert(disruption->unreachable_pods.begin(), disruption->unreachable_pods.end());
  next.last_issued = std::max(next.last_issued, next.generation) + 1;
  next.generation = next.last_issued;
  next.members.clear();
  return begin_generation(observation, std::move(next));
}

std::int64_t newest_checkpoint(const Observation& observation) {
  const auto& last = observation.job.status.progress;
  const auto progress = newest_progress(observation);
  return std::max(last && last->newest ? last->newest->last_checkpoint_step : 0,
                  progress ? progress->last_checkpoint_step : 0);
}

std::string where_it_starts(const JobSpec& job) {
  const auto& source = job.checkpoint.resume_from;
  return source ? fmt::format("with the state of job {}", source->job) : "at step 0";
}

std::string saving_message(const Observation& observation, const GenerationRecord& record) {
  for (const auto& [uid, agent] : observation.agents) {
    if (is_broken(agent, record.generation)) {
      return fmt::format("Its state could not be saved: {}.", message_of(agent));
    }
  }
  if (is_saving(observation, record)) return "Its state is being saved.";
  if (!has_checkpoint_folder(observation)) return "It has no checkpoint folder.";
  const std::int64_t step = newest_checkpoint(observation);
  return step > 0 ? fmt::format("Its newest checkpoint has step {}.", step) : "It has no checkpoint.";
}

std::string release_message(const Observation& observation, const GenerationRecord& record) {
  const bool is_sentence = record.message.ends_with('.');
  return fmt::format("{}{} {}", record.message, is_sentence ? "" : ".", saving_message(observation, record));
}

}  // namespace sailor
