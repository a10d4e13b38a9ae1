#include "operator/reconcile/decide/pod_states.h"

#include <algorithm>

#include "core/protocol/lease.h"
#include "operator/model/observation_queries.h"

namespace sailor {
namespace {

constexpr int kUnresponsivePolls = 2;  // with fewer, a new operator may not have polled the agent yet

std::int64_t oldest_reported(const AgentReport& report) {
  const auto oldest = std::ranges::min_element(report.workers, {}, &WorkerReport::generation);
  return oldest == report.workers.end() ? 0 : oldest->generation;
}

bool may_begin(const PodView& pod) { return pod.is_ours && !pod.is_deleting && !pod.has_ended() && !pod.ip.empty(); }

PodState state_of(const Observation& observation, const GenerationRecord& record, const PodView& pod) {
  PodState state;
  const AgentView* agent = find_agent(observation, pod);
  state.is_dead = pod.has_ended();
  state.contact = contact_of(agent);
  // No operator can have notified a pod without an address.
  if (pod.ip.empty() && state.contact == AgentContact::kNotHeardYet) state.contact = AgentContact::kUnresponsive;
  if (const auto found = record.notified.find(pod.uid); found != record.notified.end()) state.notified = found->second;
  if (agent == nullptr || !agent->report) return state;
  state.is_ready = is_ready(*agent);
  state.holds_state = holds_state(*agent);
  state.reported = oldest_reported(*agent->report);
  return state;
}

bool is_gone(const Observation& observation, const Member& member) {
  return !member.node_uid.empty() && !observation.cluster->node_uids.contains(member.node_uid);
}

// Returns the index of the member's pod. Appends an entry if the pod is gone. Who answers is not dead, whatever the API
// server says; a pod that is gone, or whose node is, counts as dead once its agent has been asked in vain.
std::size_t place_of(const Observation& observation, const Member& member, PodStates& pod_states) {
  const auto is_its = [&](const PodView* pod) { return pod != nullptr && pod->uid == member.pod_uid; };
  const auto found = std::ranges::find_if(pod_states.pods, is_its);
  const auto place = static_cast<std::size_t>(found - pod_states.pods.begin());
  if (found == pod_states.pods.end()) {
    pod_states.pods.push_back(nullptr);
    const AgentContact contact = contact_of(find_agent(observation, member.pod_uid));
    pod_states.states.push_back({.is_dead = contact == AgentContact::kUnresponsive, .contact = contact});
  }
  PodState& state = pod_states.states[place];
  state.is_dead = state.is_dead || (is_gone(observation, member) && state.contact == AgentContact::kUnresponsive);
  return place;
}

// Returns whether the lease of an older generation has lapsed. The lease of the generation that trains on is still
// renewed.
bool lease_has_lapsed(const Observation& observation, const GenerationRecord& record, const OlderRecord& older) {
  const bool trains_on = record.running && record.running->generation == older.generation;
  if (!older.is_leased || trains_on) return false;
  return lease_lapses_in(observation, older) == std::chrono::milliseconds(0);
}

// Returns whether the newest generation is committed, replaces this older one and has its pods as members. If the time
// of the lease is counted already, it stays so, because the lapse may be relied on.
bool joins_newest(const GenerationRecord& record, std::int64_t generation) {
  const auto older = std::ranges::find(record.older, generation, &OlderRecord::generation);
  if (older == record.older.end() || older->is_unrenewed) return false;
  if (!record.is_committed() || record.from_generation != generation) return false;
  return std::ranges::all_of(older->members,
                             [&](const Member& member) { return member_of(record, member.pod_uid) != nullptr; });
}

}  // namespace

AgentContact contact_of(const AgentView* agent) {
  if (agent != nullptr && agent->answers()) return AgentContact::kAnswers;
  return agent == nullptr || agent->unanswered_polls < kUnresponsivePolls ? AgentContact::kNotHeardYet
                                                                          : AgentContact::kUnresponsive;
}

std::optional<std::chrono::milliseconds> lease_lapses_in(const Observation& observation, const OlderRecord& older) {
  const auto unrenewed = observation.unrenewed_for.find(older.generation);
  const auto claimed = observation.claimed_for.find(older.generation);
  if (unrenewed == observation.unrenewed_for.end() || claimed == observation.claimed_for.end()) return std::nullopt;
  const LeaseKnowledge lease{.is_unrenewed = unrenewed->second >= kLeaseLength,
                             .is_claimed = claimed->second >= kLeaseLength};
  if (has_lapsed(lease)) return std::chrono::milliseconds(0);
  return std::max(kLeaseLength - std::min(unrenewed->second, claimed->second), std::chrono::milliseconds(1));
}

bool is_renewed(const GenerationRecord& record, std::int64_t generation) {
  return renews_lease(generation, record.generation, record.running ? record.running->generation : 0,
                      joins_newest(record, generation));
}

PodStates pod_states_of(const Observation& observation, const GenerationRecord& record) {
  PodStates pod_states;
  for (const Slot& slot : record.placement.slots) {
    const PodView* pod = find_pod(observation, slot.pod);
    PodState state = pod != nullptr ? state_of(observation, record, *pod) : PodState{};
    state.has_slot = true;
    if (pod == nullptr || !may_begin(*pod)) state.contact = AgentContact::kUnresponsive;
    pod_states.pods.push_back(pod);
    pod_states.states.push_back(state);
  }
  for (const PodView& pod : observation.pods) {
    if (!pod.is_ours || std::ranges::find(record.placement.slots, pod.name, &Slot::pod) != record.placement.slots.end())
      continue;
    pod_states.pods.push_back(&pod);
    pod_states.states.push_back(state_of(observation, record, pod));
    pod_states.states.back().is_stale = is_stale(record, pod);
    pod_states.states.back().is_unreachable = record.unreachable_pods.contains(pod.uid);
  }
  for (const OlderRecord& older : record.older) {
    OlderGeneration& generation = pod_states.older.emplace_back();
    generation.generation = older.generation;
    generation.lease_has_lapsed = lease_has_lapsed(observation, record, older);
    for (const Member& member : older.members) generation.pods.push_back(place_of(observation, member, pod_states));
  }
  return pod_states;
}

}  // namespace sailor
