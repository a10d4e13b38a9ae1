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
  bool is_dead = false;  // certainly: it has ended, or its node is gone; an unresponsive pod may live
  AgentContact contact = AgentContact::kUnresponsive;
  bool is_ready = false;        // all its worker processes have reported
  bool is_stale = false;        // the job released its GPUs since, and restarts from the checkpoint without it
  bool is_unreachable = false;  // it answers the operator, but not all peers, so it could not take part
  bool holds_state = false;     // by its newest report
  std::int64_t notified = 0;    // the newest generation that it may know; 0: none
  std::int64_t reported = 0;    // the newest that all its workers report to obey
  friend bool operator==(const PodState&, const PodState&) = default;
};

// An earlier generation that may still train.
struct OlderGeneration {
  std::int64_t generation = 0;
  std::vector<std::size_t> pods;  // with a role in it, as indices
  bool lease_has_lapsed = false;  // it had a lease, which is not renewed any more
};

// The pods that take part, as indices: all pods with a slot, then all pods that leave and hold state, or may come to
// hold it. Empty as long as a pod with a slot is not ready, or the contact to a pod that may hold state is not known. A
// stale pod does not take part: its state is older than the checkpoint that the others continue from. Neither does an
// unreachable pod, for which all others would wait.
std::optional<std::vector<std::size_t>> participants(const std::vector<PodState>& pods);

// Whether the generation can never train again. One worker that has left it is enough, because its vote is missing. The
// exception is a step that this worker had voted for: a worker that was frozen or cut off within the step may finish it
// late, but nobody takes over that state.
bool has_ended(const OlderGeneration& older, const std::vector<PodState>& pods);

// Whether the older generation cannot train once a generation with these participants trains, which it does only after
// all of them have joined it.
bool is_fenced(const OlderGeneration& older, const std::vector<PodState>& pods,
               const std::vector<std::size_t>& participants);

// Whether the lease of a generation is renewed: that of the newest generation in the record, and that of the generation
// which trains on while the newest waits for its pods. Once it is not renewed any more, the operator waits for
// kLeaseLength before it relies on the lapse.
bool renews_lease(std::int64_t asked_for, std::int64_t newest_written, std::int64_t trains_on);

}  // namespace sailor
