// Who takes part in the newest generation, and when it may be told to them: the protocol's functions
// (operator/protocol/fencing.h) on what is seen.
#include <algorithm>

#include <fmt/format.h>

#include "core/protocol/lease.h"
#include "core/protocol/ports.h"
#include "operator/model/names.h"
#include "operator/reconcile/decide/job_decision.h"

namespace sailor {
namespace {

Member member_from(const PodView& pod, const Observation& observation, bool leaves) {
  const NodeView* node = observation.cluster.find_node(pod.node);
  return {{pod.name, pod.ip, kAgentPort, kStorePort, pod.pool, pod.gpus},
          pod.uid,
          pod.node,
          node == nullptr ? "" : node->uid,
          leaves};
}

// The store outlives the generation best on a node that nobody takes back.
int rendezvous_of(const std::vector<Member>& members) {
  for (int i = 0; i < std::ssize(members); ++i) {
    const Member& member = members[static_cast<std::size_t>(i)];
    if (!member.leaves && member.address.pool.provisioning == Provisioning::kOnDemand) return i;
  }
  return 0;
}

std::map<std::string, std::int64_t> notified_after(const Observation& observation, const GenerationRecord& record) {
  std::map<std::string, std::int64_t> told = record.notified;
  for (const Member& member : record.members) told[member.pod_uid] = record.generation;
  std::erase_if(told, [&](const auto& entry) {
    return std::ranges::none_of(observation.pods, [&](const PodView& pod) { return pod.uid == entry.first; });
  });
  return told;
}

// All workers must make the same lists, so none may get times if one of them would not read them.
bool takes_schedule_times(const AgentView* agent) {
  return agent == nullptr || !agent->report || agent->report->takes_schedule_times;
}

}  // namespace

void JobDecision::commit_membership_if_all_are_ready() {
  const PodStates pod_states = pod_states_of(observation_, *record_);
  const auto taking_part = participants(pod_states.states);
  if (!taking_part) return;
  if (taking_part->empty()) return remove_unused_pods();  // parked, and there is nothing to save
  if (!record_->releases_gpus && !await_older(pod_states, *taking_part)) return;  // who parks does not train
  commit_membership(pod_states, *taking_part);
}

void JobDecision::commit_membership(const PodStates& pod_states, const std::vector<std::size_t>& participants) {
  for (const std::size_t i : participants) {
    if (!takes_schedule_times(find_agent(observation_, *pod_states.pods[i]))) record_->schedule_times.reset();
    record_->members.push_back(member_from(*pod_states.pods[i], observation_, !pod_states.states[i].has_slot));
  }
  const auto trains = [](const Member& member) { return !member.leaves; };
  const bool is_alone = std::ranges::count_if(record_->members, trains) == 1;
  record_->is_leased = is_alone && !record_->releases_gpus && !observation_.settings.callback.empty();
  record_->committed_at = observation_.now;
  record_->running.reset();  // from now on there is no way back
  record_->rendezvous = rendezvous_of(record_->members);
  record_->notified = notified_after(observation_, *record_);
  std::vector<OlderRecord> may_run;
  for (std::size_t i = 0; i < pod_states.older.size(); ++i) {
    if (!has_ended(pod_states.older[i], pod_states.states)) may_run.push_back(std::move(record_->older[i]));
  }
  record_->older = std::move(may_run);
  decision_.actions.emplace_back(WriteRecord{*record_});
}

// Whether no older generation can train once this one does. The time of a lease counts from when the record of a newer
// generation is seen to be written: from then on nobody renews it.
bool JobDecision::await_older(const PodStates& pod_states, const std::vector<std::size_t>& participants) {
  const bool is_written = observation_.record && observation_.record->generation == record_->generation;
  bool begins_to_count = false;
  for (std::size_t i = 0; i < pod_states.older.size(); ++i) {
    if (is_fenced(pod_states.older[i], pod_states.states, participants)) continue;
    OlderRecord& older = record_->older[i];
    remove_unreachable_pods(older);
    const Member& member = older.members.front();
    fence_ =
        fmt::format("Generation {} may still train: pod {} on node {} gives no answer, and is not known to be gone.",
                    older.generation, member.address.name, member.node);
    if (!older.is_leased || !is_written || record_->running) continue;
    if (older.unrenewed_since == Time()) {
      older.unrenewed_since = observation_.now;
      begins_to_count = true;
    }
    requeue(std::max(older.unrenewed_since + kLeaseLength - observation_.now, std::chrono::milliseconds(1)));
  }
  if (begins_to_count) decision_.actions.emplace_back(WriteRecord{*record_});
  return fence_.empty();
}

// They are not asked, so nobody would ever hear that they have left; and the job need not wait for them.
void JobDecision::remove_unreachable_pods(const OlderRecord& older) {
  for (const Member& member : older.members) {
    if (!record_->unreachable_pods.contains(member.pod_uid)) continue;
    const auto pod = std::ranges::find(observation_.pods, member.pod_uid, &PodView::uid);
    if (pod != observation_.pods.end()) remove_pod(*pod);
  }
}

}  // namespace sailor
