// The operator's side of the protocol, as functions from an observation to what the operator may do: who takes part in
// the next generation, and when they may be notified. They use neither clock nor network: membership.cc calls them, and
// so does the exploration of the protocol. docs/elasticity-internals.md has the rules, under "Fencing".
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace sailor {

enum class AgentContact : std::uint8_t {
  kAnswers,
  kNotHeardYet,  // has not answered yet, but has not been unresponsive for long either
  kUnresponsive,
};

// A pod of the job, seen from the newest generation before its membership is committed.
struct PodState {
  bool has_slot = false;
  bool is_dead = false;  // the pod has ended, or its node is gone; an unresponsive pod may still live
  AgentContact contact = AgentContact::kUnresponsive;
  bool is_ready = false;  // all worker processes of the pod have reported
  bool is_stale = false;  // the job has released its GPUs since, and restarts from the checkpoint without this pod
  bool is_unreachable = false;  // the pod answers the operator, but not all peers, so it could not take part
  bool holds_state = false;     // the newest report says that a worker holds state
  std::int64_t notified = 0;    // the newest generation that the pod may know; 0: none
  std::int64_t reported = 0;    // the newest generation that all workers of the pod report to obey
  friend bool operator==(const PodState&, const PodState&) = default;
};

// What the operator knows about the lease of an earlier generation of a single pod.
struct LeaseKnowledge {
  bool is_unrenewed = false;  // no operator has renewed it for the length of a lease
  bool is_claimed = false;    // a newer generation has claimed the checkpoint folder for the length of a lease
};

// Returns whether the lease has lapsed. The agent renews it by the operator's answer or by its own look at the folder,
// so both must have ended.
bool has_lapsed(const LeaseKnowledge& lease);

// An earlier generation that may still train.
struct OlderGeneration {
  std::int64_t generation = 0;
  std::vector<std::size_t> pods;  // the indices of the pods with a role in this generation
  bool lease_has_lapsed = false;  // the generation had a lease, and has_lapsed()
};

// Returns the indices of the pods that take part: all pods with a slot, then all pods that leave and hold state, or may
// come to hold it. Returns nothing as long as a pod with a slot is not ready, or the contact to a pod that may hold
// state is not known. A stale pod does not take part, because its state is older than the checkpoint that the others
// continue from. An unreachable pod does not take part either, because all others would wait for it.
std::optional<std::vector<std::size_t>> participants(const std::vector<PodState>& pods);

// Returns whether the generation can never train again. One worker that has left it is enough, because its vote is
// missing. The exception is a step that this worker had voted for: a worker that was frozen or cut off within the step
// may finish it late, but nobody takes over that state.
bool has_ended(const OlderGeneration& older, const std::vector<PodState>& pods);

// Returns whether the older generation cannot train once a generation with these participants trains. That generation
// trains only after all of them have joined it.
bool is_fenced(const OlderGeneration& older, const std::vector<PodState>& pods,
               const std::vector<std::size_t>& participants);

// Returns whether the operator renews the lease of the generation `asked_for`. It renews the leases of the newest
// generation in the record and of the generation that trains on while the newest one waits for its pods (0: none). It
// also renews the lease if the newest generation is committed, replaces `asked_for` and has its only pod as a member
// (`joins_newest`): the newest generation trains only after that pod has switched, and may have to receive state first.
// A still older generation must not get its lease back: others may have trained since it lapsed.
// After the operator has stopped renewing a lease, it waits for kLeaseLength before it relies on the lapse.
bool renews_lease(std::int64_t asked_for, std::int64_t newest_written, std::int64_t trains_on, bool joins_newest);

}  // namespace sailor
