#include "operator/reconcile/decide/state_at_risk.h"

#include <fmt/format.h>

#include "core/protocol/timeouts.h"
#include "operator/model/observation_queries.h"
#include "operator/reconcile/decide/saving.h"

namespace sailor {
namespace {

// The workers of a pod send at the same time.
UnsentState unsent_of(const AgentReport& report) {
  UnsentState all;
  for (const WorkerReport& worker : report.workers) {
    all.bytes += worker.unsent.bytes;
    if (worker.unsent.bytes > 0) all.bytes_per_second += worker.unsent.bytes_per_second;
  }
  return all;
}

// The state that a member must send before its pod ends. Nothing: the member has sent it, or is in no hurry.
std::optional<UnsentState> unsent_of(const Observation& observation, const GenerationRecord& record,
                                     const Member& member) {
  if (record.releases_gpus || !leaves_urgently(record, member)) return std::nullopt;
  const AgentView* agent = find_agent(observation, member.pod_uid);
  if (agent == nullptr || !agent->report) return std::nullopt;
  const UnsentState unsent = unsent_of(*agent->report);
  return unsent.bytes > 0 ? std::optional(unsent) : std::nullopt;
}

// Returns whether nothing has arrived yet. It may still begin to.
bool has_not_begun(const UnsentState& unsent) { return unsent.bytes_per_second <= 0; }
Time last_moment(const GenerationRecord& record) { return record.leave_by - kTimeToLeave; }

bool is_late(const UnsentState& unsent, const GenerationRecord& record, Time now) {
  if (has_not_begun(unsent)) return now >= last_moment(record);
  return static_cast<double>(unsent.bytes) / unsent.bytes_per_second > seconds_between(now, record.leave_by);
}

std::string where_it_continues(const Observation& observation) {
  const auto progress = newest_progress(observation);
  if (!progress || progress->last_checkpoint_step == 0) {
    return fmt::format("If it is lost, the job starts again {}, because it has no checkpoint of its own.",
                       where_it_starts(*observation.job.spec));
  }
  return fmt::format("If it is lost, the job continues from the checkpoint of step {} and repeats all later steps.",
                     progress->last_checkpoint_step);
}

}  // namespace

std::optional<std::string> state_at_risk(const Observation& observation, const GenerationRecord& record) {
  const ConditionStatus* before = observation.job.status.find(ConditionType::kDegraded);
  const bool is_known = before != nullptr && before->condition.reason == Reason::kStateAtRisk;
  for (const Member& member : record.members) {
    const auto unsent = unsent_of(observation, record, member);
    if (!unsent) continue;
    if (is_known) return before->condition.message;
    if (!is_late(*unsent, record, observation.now)) continue;
    return fmt::format(
        "Pod {} on node {} may be gone at {}, before it has sent the state that no other pod has: {:.1f} GB are left, "
        "at {:.0f} MB/s. {}",
        member.address.name, member.node, to_rfc3339(record.leave_by), static_cast<double>(unsent->bytes) / 1e9,
        unsent->bytes_per_second / 1e6, where_it_continues(observation));
  }
  return std::nullopt;
}

PolicyResult requeue_when_state_is_at_risk(const Observation& observation) {
  PolicyResult result;
  const auto& record = observation.record;
  if (!record || last_moment(*record) <= observation.now) return result;
  for (const Member& member : record->members) {
    const auto unsent = unsent_of(observation, *record, member);
    if (unsent && has_not_begun(*unsent)) requeue(result, time_until(observation.now, last_moment(*record)));
  }
  return result;
}

}  // namespace sailor
