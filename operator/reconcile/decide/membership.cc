#include "operator/reconcile/decide/membership.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/protocol/lease.h"
#include "core/protocol/ports.h"
#include "operator/model/names.h"
#include "operator/model/observation_queries.h"
#include "operator/reconcile/decide/generation_pods.h"
#include "operator/reconcile/decide/pod_states.h"

namespace sailor {
namespace {

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
  // A job without checkpoints has its state in this pod only, so no lease lets it continue elsewhere: the pod trains on
  // until Kubernetes confirms that it is gone.
  record.is_leased = is_alone && !record.releases_gpus && !observation.job.spec->checkpoint.path.empty();
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

// Deletes the pods of an older generation that answer, hold no state and take no part in the new generation. They would
// never learn that they must stop either.
void remove_idle_pods(PolicyResult& result, const PodStates& pods, const OlderGeneration& older,
                      const Participants& participants) {
  for (const std::size_t i : older.pods) {
    const PodState& state = pods.states[i];
    const bool takes_part = std::ranges::find(participants, i) != participants.end();
    const bool is_idle = state.contact == AgentContact::kAnswers && !state.holds_state && !takes_part;
    if (is_idle && pods.pods[i] != nullptr) remove_pod(result, *pods.pods[i]);
  }
}

// Asks an agent of the new generation to claim the checkpoint folder, so that the older generation cannot renew its
// lease there.
void claim_folder(PolicyResult& result, const Observation& observation, const GenerationRecord& record,
                  const OlderRecord& older) {
  for (const Slot& slot : record.placement.slots) {
    const PodView* pod = find_pod(observation, slot.pod);
    const AgentView* agent = pod == nullptr ? nullptr : find_agent(observation, *pod);
    const bool is_older = pod != nullptr && std::ranges::count(older.members, pod->uid, &Member::pod_uid) > 0;
    if (agent == nullptr || !agent->answers() || is_older) continue;
    const JobSpec& job = *observation.job.spec;
    result.actions.emplace_back(
        ClaimFolder{pod->uid, {job.key, record.job_uid, job.checkpoint.path, record.generation, older.generation}});
    return;
  }
}

// A sentence that says why the checkpoint folder could not be claimed; empty: it could, or nobody has tried.
std::string claim_problem(const Observation& observation) {
  for (const auto& [uid, agent] : observation.agents) {
    if (agent.report && !agent.report->claim_error.empty())
      return fmt::format(" The checkpoint folder could not be claimed: {}.", agent.report->claim_error);
  }
  return {};
}

// Returns nothing if all older generations are fenced. Otherwise waits, and writes into the record that
// the lease of an older generation is not renewed any more, as soon as the record of the newer generation has been
// written. Each operator counts the time of the lease from when it has read this itself, by a clock that never steps.
std::optional<PolicyResult> await_older_generations(const Observation& observation, GenerationRecord record,
                                                    const PodStates& pods, const Participants& participants) {
  const bool is_written = observation.record && observation.record->generation == record.generation;
  bool starts_to_count = false;
  PolicyResult result;
  for (std::size_t i = 0; i < pods.older.size(); ++i) {
    if (is_fenced(pods.older[i], pods.states, participants)) continue;
    OlderRecord& older = record.older[i];
    remove_unreachable_pods(result, observation, record, older);
    remove_idle_pods(result, pods, pods.older[i], participants);
    const Member& member = older.members.front();
    result.conditions[ConditionType::kPodsReady] = no(
        Reason::kOlderGenerationMayTrain,
        fmt::format("Generation {} may still train: pod {} on node {} does not answer, and is not known to be gone.{}",
                    older.generation, member.address.name, member.node, claim_problem(observation)));
    if (!older.is_leased || !is_written || record.running) continue;
    starts_to_count = starts_to_count || !older.is_unrenewed;
    older.is_unrenewed = true;
    if (!observation.claimed_for.contains(older.generation)) claim_folder(result, observation, record, older);
    if (const auto left = lease_lapses_in(observation, older)) requeue(result, *left);
  }
  if (result.conditions.empty()) return std::nullopt;
  if (starts_to_count) write_record(result, std::move(record));
  return result;
}

}  // namespace

Member member_from(const PodView& pod, const Observation& observation, bool leaves) {
  const NodeView* node = observation.cluster->find_node(pod.node);
  return {{pod.name, pod.ip, kAgentPort, kStorePort, pod.pool, pod.gpus},
          pod.uid,
          pod.node,
          node == nullptr ? "" : node->uid,
          leaves};
}

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
