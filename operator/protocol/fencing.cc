#include "operator/protocol/fencing.h"

#include <algorithm>

namespace sailor {
namespace {

// A pod may switch at any moment to a generation that it was notified of, whatever it has reported so far.
bool may_hold_state(const PodState& pod) { return pod.holds_state || pod.notified > pod.reported; }

}  // namespace

bool has_lapsed(const LeaseKnowledge& lease) { return lease.is_unrenewed && lease.is_claimed; }

std::optional<std::vector<std::size_t>> participants(const std::vector<PodState>& pods) {
  std::vector<std::size_t> staying, leaving;
  for (std::size_t i = 0; i < pods.size(); ++i) {
    const PodState& pod = pods[i];
    if (pod.has_slot) {
      if (pod.contact != AgentContact::kAnswers || !pod.is_ready) return std::nullopt;
      staying.push_back(i);
    } else if (!pod.is_dead && !pod.is_stale && !pod.is_unreachable) {
      if (pod.contact == AgentContact::kNotHeardYet) return std::nullopt;
      if (pod.contact == AgentContact::kAnswers && may_hold_state(pod)) leaving.push_back(i);
    }
  }
  staying.insert(staying.end(), leaving.begin(), leaving.end());
  return staying;
}

bool has_ended(const OlderGeneration& older, const std::vector<PodState>& pods) {
  const auto has_left = [&](std::size_t pod) { return pods[pod].reported > older.generation; };
  const auto is_dead = [&](std::size_t pod) { return pods[pod].is_dead; };
  return std::ranges::any_of(older.pods, has_left) || std::ranges::all_of(older.pods, is_dead) ||
         (older.pods.size() == 1 && older.lease_has_lapsed);
}

bool is_fenced(const OlderGeneration& older, const std::vector<PodState>& pods,
               const std::vector<std::size_t>& participants) {
  const auto takes_part = [&](std::size_t pod) { return std::ranges::find(participants, pod) != participants.end(); };
  return std::ranges::any_of(older.pods, takes_part) || has_ended(older, pods);
}

bool renews_lease(std::int64_t asked_for, std::int64_t newest_written, std::int64_t trains_on, bool joins_newest) {
  return asked_for == newest_written || (trains_on > 0 && asked_for == trains_on) || joins_newest;
}

}  // namespace sailor
