#include "operator/reconcile/decide/pod_states.h"

#include <algorithm>

#include "core/protocol/lease.h"
#include "operator/reconcile/decide/disruption.h"

namespace sailor {
namespace {

constexpr int kSilence = 2;  // polls without an answer: before that a new operator may only not have asked yet

Hearing hearing_of(const AgentView* agent) {
  if (agent != nullptr && agent->answers()) return Hearing::kAnswers;
  return agent == nullptr || agent->failures < kSilence ? Hearing::kUnheard : Hearing::kSilent;
}

std::int64_t oldest_reported(const AgentReport& report) {
  const auto oldest = std::ranges::min_element(report.workers, {}, &WorkerReport::generation);
  return oldest == report.workers.end() ? 0 : oldest->generation;
}

bool may_begin(const PodView& pod) { return pod.is_ours && !pod.is_deleting && !pod.has_ended() && !pod.ip.empty(); }

PodStanding standing_of(const Observation& seen, const GenerationRecord& record, const PodView& pod) {
  PodStanding standing;
  const AgentView* agent = find_agent(seen, pod);
  standing.is_dead = pod.has_ended();
  standing.hearing = hearing_of(agent);
  // Nothing can have told a pod without an address anything.
  if (pod.ip.empty() && standing.hearing == Hearing::kUnheard) standing.hearing = Hearing::kSilent;
  if (const auto told = record.told.find(pod.uid); told != record.told.end()) standing.told = told->second;
  if (agent == nullptr || !agent->report) return standing;
  standing.is_ready = is_ready(*agent);
  standing.holds_state = holds_state(*agent);
  standing.reported = oldest_reported(*agent->report);
  return standing;
}

bool is_gone(const Observation& seen, const Member& member) {
  return !member.node_uid.empty() && !seen.cluster.node_uids.contains(member.node_uid);
}

// Where the member's pod is in the lineup: behind the others if it is there no more.
std::size_t place_of(const Observation& seen, const Member& member, Lineup& lineup) {
  const auto is_its = [&](const PodView* pod) { return pod != nullptr && pod->uid == member.pod_uid; };
  const auto found = std::ranges::find_if(lineup.pods, is_its);
  const auto place = static_cast<std::size_t>(found - lineup.pods.begin());
  if (found == lineup.pods.end()) {
    lineup.pods.push_back(nullptr);
    lineup.standings.push_back({.is_dead = true});
  }
  PodStanding& standing = lineup.standings[place];
  standing.is_dead = standing.is_dead || is_gone(seen, member);
  return place;
}

// Only a lease that nobody renews lapses: not that of the generation that trains on.
bool has_lapsed(const Observation& seen, const GenerationRecord& record, const OlderRecord& older) {
  const bool trains_on = record.running && record.running->generation == older.generation;
  const bool is_counted = older.is_leased && !trains_on && older.unrenewed_since != Time();
  return is_counted && seen.now - older.unrenewed_since >= kLeaseLength;
}

}  // namespace

bool is_renewed(const GenerationRecord& record, std::int64_t generation) {
  return renews_lease(generation, record.generation, record.running ? record.running->generation : 0);
}

Lineup line_up(const Observation& seen, const GenerationRecord& record) {
  Lineup lineup;
  for (const Slot& slot : record.placement.slots) {
    const PodView* pod = find_pod(seen, slot.pod);
    PodStanding standing = pod != nullptr ? standing_of(seen, record, *pod) : PodStanding{};
    standing.has_slot = true;
    if (pod == nullptr || !may_begin(*pod)) standing.hearing = Hearing::kSilent;
    lineup.pods.push_back(pod);
    lineup.standings.push_back(standing);
  }
  for (const PodView& pod : seen.pods) {
    if (!pod.is_ours || std::ranges::find(record.placement.slots, pod.name, &Slot::pod) != record.placement.slots.end())
      continue;
    lineup.pods.push_back(&pod);
    lineup.standings.push_back(standing_of(seen, record, pod));
    lineup.standings.back().is_stale = pod.created_for < record.fresh_from;
    lineup.standings.back().is_out_of_reach = record.out_of_reach.contains(pod.uid);
  }
  for (const OlderRecord& older : record.older) {
    OlderGeneration& generation = lineup.older.emplace_back();
    generation.generation = older.generation;
    generation.lease_has_lapsed = has_lapsed(seen, record, older);
    for (const Member& member : older.members) generation.pods.push_back(place_of(seen, member, lineup));
  }
  return lineup;
}

}  // namespace sailor
