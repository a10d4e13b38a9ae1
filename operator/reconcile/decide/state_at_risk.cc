#include "operator/reconcile/decide/state_at_risk.h"

#include <fmt/format.h>

#include "core/protocol/timeouts.h"
#include "operator/model/observation_queries.h"

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

// A pod whose receivers have nothing yet may still begin to send.
bool is_late(const UnsentState& unsent, double seconds_left) {
  if (unsent.bytes_per_second <= 0) return seconds_left < std::chrono::duration<double>(kTimeToLeave).count();
  return static_cast<double>(unsent.bytes) / unsent.bytes_per_second > seconds_left;
}

std::string where_it_continues(const Observation& observation) {
  const auto progress = newest_progress(observation);
  if (!progress || progress->last_checkpoint_step == 0) {
    return "If it is lost, the job begins again at step 0, because it has no checkpoint.";
  }
  return fmt::format("If it is lost, the job continues from the checkpoint of step {} and repeats all later steps.",
                     progress->last_checkpoint_step);
}

}  // namespace

std::optional<std::string> state_at_risk(const Observation& observation, const GenerationRecord& record) {
  if (is_voluntary(record.reason) || record.releases_gpus) return std::nullopt;
  const ConditionStatus* before = observation.job.status.find(ConditionType::kDegraded);
  const bool is_known = before != nullptr && before->condition.reason == Reason::kStateAtRisk;
  for (const Member& member : record.members) {
    const AgentView* agent = member.leaves ? find_agent(observation, member.pod_uid) : nullptr;
    if (agent == nullptr || !agent->report) continue;
    const UnsentState unsent = unsent_of(*agent->report);
    if (unsent.bytes == 0) continue;
    if (is_known) return before->condition.message;
    if (!is_late(unsent, seconds_between(observation.now, record.leave_by))) continue;
    return fmt::format(
        "Pod {} on node {} may be gone at {}, before it has sent the state that no other pod has: {:.1f} GB are left, "
        "at {:.0f} MB/s. {}",
        member.address.name, member.node, to_rfc3339(record.leave_by), static_cast<double>(unsent.bytes) / 1e9,
        unsent.bytes_per_second / 1e6, where_it_continues(observation));
  }
  return std::nullopt;
}

}  // namespace sailor
