#include "operator/reconcile/decide/membership.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/protocol/lease.h"
#include "core/protocol/ports.h"
#include "operator/model/names.h"
#include "operator/reconcile/decide/generation_pods.h"
#include "operator/reconcile/decide/pod_states.h"

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

// Returns the index of the member that hosts the rendezvous store. The store should outlive the generation, so a member
// on an on-demand node is preferred: such a node is not preempted.
int rendezvous_of(const std::vector<Member>& members) {
  for (int i = 0; i < std::ssize(members); ++i) {
    const Member& member = members[static_cast<std::size_t>(i)];
    if (!member.leaves && member.address.pool.provisioning == Provisioning::kOnDemand) return i;
  }
  return 0;
}

std::map<std::string, std::int64_t> notified_after(const Observation& observation, const GenerationRecord& record) {
  std::map<std::string, std::int64_t> notified = record.notified;
  for (const Member& member : record.members) notified[member.pod_uid] = record.generation;
  std::erase_if(notified, [&](const auto& entry) {
    return std::ranges::none_of(observation.pods, [&](const PodView& pod) { return pod.uid == entry.first; });
  });
  return notified;
}

using Participants = std::vector<std::size_t>;  // indices into PodStates

GenerationRecord with_members(const Observation& observation, GenerationRecord record, const PodStates& pods,
                              const Participants& participants) {
  for (const std::size_t i : participants) {
    record.members.push_back(member_from(*pods.pods[i], observation, !pods.states[i].has_slot));
  }
  const auto trains = [](const Member& member) { return !member.leaves; };
  const bool is_alone = std::ranges::count_if(record.members, trains) == 1;
  record.is_leased = is_alone && !record.releases_gpus && !observation.settings.callback.empty();
  record.committed_at = observation.now;
  record.running.reset();  // a committed generation cannot be withdrawn
  record.rendezvous = rendezvous_of(record.members);
  record.notified = notified_after(observation, record);
  std::vector<OlderRecord> may_train;
  for (std::size_t i = 0; i < pods.older.size(); ++i) {
    if (!has_ended(pods.older[i], pods.states)) may_train.push_back(std::move(record.older[i]));
  }
  record.older = std::move(may_train);
  return record;
}

// Deletes the unreachable pods of an older generation. They do not take part in the new generation, so they would never
// learn that they must stop, and the job would wait for them.
void remove_unreachable_pods(PolicyResult& result, const Observation& observation, const GenerationRecord& record,
                             const OlderRecord& older) {
  for (const Member& member : older.members) {
    if (!record.unreachable_pods.contains(member.pod_uid)) continue;
    const auto pod = std::ranges::find(observation.pods, member.pod_uid, &PodView::uid);
    if (pod != observation.pods.end()) remove_pod(result, *pod);
  }
}

// Returns nothing if all older generations are fenced. Otherwise waits, and starts to count the time of an older
// generation's lease as soon as the record of the newer generation has been written: after that, the operator does not
// renew the lease.
std::optional<PolicyResult> await_older_generations(const Observation& observation, GenerationRecord record,
                                                    const PodStates& pods, const Participants& participants) {
  const bool is_written = observation.record && observation.record->generation == record.generation;
  bool starts_to_count = false;
  PolicyResult result;
  for (std::size_t i = 0; i < pods.older.size(); ++i) {
    if (is_fenced(pods.older[i], pods.states, participants)) continue;
    OlderRecord& older = record.older[i];
    remove_unreachable_pods(result, observation, record, older);
    const Member& member = older.members.front();
    result.conditions[ConditionType::kPodsReady] =
        no(Reason::kOlderGenerationMayTrain,
           fmt::format("Generation {} may still train: pod {} on node {} does not answer, and is not known to be gone.",
                       older.generation, member.address.name, member.node));
    if (!older.is_leased || !is_written || record.running) continue;
    if (older.unrenewed_since == Time()) {
      older.unrenewed_since = observation.now;
      starts_to_count = true;
    }
    requeue(result, time_until(observation.now, older.unrenewed_since + kLeaseLength));
  }
  if (result.conditions.empty()) return std::nullopt;
  if (starts_to_count) write_record(result, std::move(record));
  return result;
}

}  // namespace

PolicyResult commit_membership(const Observation& observation, const GenerationRecord& record) {
  const PodStates pods = pod_states_of(observation, record);
  const auto taking_part = participants(pods.states);
  if (!taking_part) return {};
  PolicyResult result;
  if (taking_part->empty()) {  // the generation releases the GPUs, and no pod holds state
    remove_unused_pods(result, observation, record);
    return result;
  }
  if (!record.releases_gpus) {
    if (auto waiting = await_older_generations(observation, record, pods, *taking_part)) return *std::move(waiting);
  }
  write_record(result, with_members(observation, record, pods, *taking_part));
  return result;
}

}  // namespace sailor
