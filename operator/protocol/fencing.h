// The operator's side of the protocol, as functions from what it sees to what it may do: who takes part in the next
// generation, and when it may be told to them. No clock, no network: generation.cc asks them, and so does the
// exploration of the protocol. docs/elasticity-internals.md has the rules, under "Fencing".
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace sailor {

enum class AgentContact : std::uint8_t {
  kAnswers,
  kNotHeardYet,  // has neither answered yet nor been silent for long enough to be given up
  kUnresponsive,
};

// A pod of the job, as it stands towards the newest generation before that one is sealed.
struct PodState {
  bool has_slot = false;
  bool is_dead = false;  // surely: it has ended, or its node is gone; to give no answer is not enough
  AgentContact contact = AgentContact::kUnresponsive;
  bool is_ready = false;        // its workers' processes have spoken
  bool is_stale = false;        // the job was parked since, and starts again without it: from the checkpoint
  bool is_unreachable = false;  // it answers, and not some peer: it could not come to a meeting
  bool holds_state = false;     // it said so last
  std::int64_t notified = 0;    // the newest generation that it may have been told of; 0: none
  std::int64_t reported = 0;    // the newest that all its workers have said to obey
  friend bool operator==(const PodState&, const PodState&) = default;
};

// A generation before it that has had roles, and may still run.
struct OlderGeneration {
  std::int64_t generation = 0;
  std::vector<std::size_t> pods;  // with a role in it, as indices
  bool lease_has_lapsed = false;  // it has one, and it is not renewed any more
};

// Those who take part, as indices: all with a slot, then all who may hold state, or come to hold it, and leave. Nothing
// as long as one with a slot is not ready, or one that may hold state was not heard. Not asked is a stale pod: what it
// holds is older than the checkpoint that the others go on from. Nor is one out of reach, for whom all would wait.
std::optional<std::vector<std::size_t>> participants(const std::vector<PodState>& pods);

// Whether it can never train again. One worker that has left it is enough, for its vote is missing: but for a step that
// it had voted for, which somebody who was frozen or cut off within it may finish late, to a state that nobody takes.
bool has_ended(const OlderGeneration& older, const std::vector<PodState>& pods);

// Whether it cannot train once a generation with these participants trains, which it does only when all have come.
bool is_fenced(const OlderGeneration& older, const std::vector<PodState>& pods,
               const std::vector<std::size_t>& participants);

// Whether the lease of a generation is renewed: of the newest that is written down, and of the one that trains on while
// the newest waits for its pods. From then on the operator waits for kLeaseLength before it relies on the lapse.
bool renews_lease(std::int64_t asked_for, std::int64_t newest_written, std::int64_t trains_on);

}  // namespace sailor
