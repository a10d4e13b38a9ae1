#include "operator/reconcile/decide/joining_pods.h"

#include <algorithm>

#include <fmt/format.h>

#include "operator/model/observation_queries.h"
#include "operator/reconcile/decide/disruption.h"
#include "operator/reconcile/decide/quarantine.h"
#include "operator/reconcile/decide/trainer_failures.h"
#include "operator/reconcile/decide/yielding.h"

namespace sailor {
namespace {

// Makes the running generation the newest one again. This is safe because no agent was notified of the withdrawn one.
PolicyResult withdraw(const GenerationRecord& record, const std::string& message,
                      const std::vector<QuarantinedNode>& nodes_to_quarantine) {
  const std::int64_t given_up = record.generation;
  GenerationRecord next = record;
  next.last_issued = std::max(next.last_issued, given_up);
  static_cast<Generation&>(next) = record.running.value();
  next.running.reset();
  std::erase_if(next.older, [&](const OlderRecord& older) { return older.generation == next.generation; });
  quarantine(next, nodes_to_quarantine);
  PolicyResult result;
  result.events.push_back({true, Reason::kChangeWithdrawn,
                           fmt::format("Generation {} is given up and {} trains on: {}{}", given_up, next.generation,
                                       message, message.ends_with('.') ? "" : ".")});
  write_record(result, std::move(next));
  return result;
}

// Returns the job that claims GPUs of the newest generation, or those of the running one, unless this very change gives
// the latter up; null: none does.
const Rival* find_claimant_of_change(const Observation& observation, const GenerationRecord& record) {
  if (const Rival* claimant = find_claimant(observation, record)) return claimant;
  return record.reason == Reason::kPreempted ? nullptr : find_claimant(observation, record.running.value());
}

}  // namespace

std::optional<PolicyResult> watch_joining_pods(const Observation& observation) {
  const GenerationRecord& record = observation.record.value();
  if (!record.running) return std::nullopt;
  if (const auto disruption = find_disruption(observation, *record.running)) {
    return withdraw(record, disruption->message, {});
  }
  if (const Rival* claimant = find_claimant_of_change(observation, record)) {
    return withdraw(
        record,
        fmt::format("job {} of priority {} takes GPUs of it", to_string(claimant->rank.key), claimant->rank.priority),
        {});
  }
  if (const auto failure = find_uncounted_failure(observation)) {
    const PodView* pod = find_pod(observation, failure->pod);
    const bool is_running = member_of(*record.running, pod->uid) != nullptr;
    if (is_running) return withdraw(record, failure->message, {});  // the next decision counts the failure
    const Time until = observation.now + observation.settings.start_limit;
    return withdraw(record, fmt::format("pod {} failed: {}", failure->pod, failure->message),
                    {{node_uid_of_pod(observation, failure->pod), Time(), until}});
  }
  if (const PodRefusal* refusal = find_refusal(observation, record.placement)) {
    return withdraw(record, refusal->message, {});
  }
  if (const auto problem = find_startup_disruption(observation)) {
    return withdraw(record, problem->message, problem->nodes_to_quarantine);
  }
  PolicyResult result;
  requeue(result, observation.settings.start_limit);
  return result;
}

}  // namespace sailor
