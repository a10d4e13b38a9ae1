// Regroup: what the workers of a new generation do once they have met: connect, hand each other the state, and begin.
#pragma once

#include <memory>

#include "core/protocol/agent_report.h"
#include "trainer/comm/interrupt.h"
#include "trainer/elastic/control/worker_settings.h"
#include "trainer/elastic/regroup/generation_rendezvous.h"
#include "trainer/elastic/state/held_state.h"
#include "trainer/step/training_groups.h"

namespace sailor::trainer {

// A worker's place in one generation. Destroying it closes all its connections, which is what tells the others that
// this generation is over for it.
struct Membership {
  std::unique_ptr<Meeting> meeting;
  std::shared_ptr<Interrupt> interrupt;    // of all groups here; none where there are none
  std::unique_ptr<Group> everyone;         // leaving workers included
  std::unique_ptr<TrainingGroups> groups;  // none for a worker that leaves
  std::unique_ptr<Group> copying;          // of those who train, where they keep copies for each other
  Patience patience;
  double known_step_seconds = 0;  // of the steps before this generation; 0: not known
  std::int64_t steps_lost = 0;
  StateSource source = StateSource::kStart;
  std::int64_t streamed_bytes = 0;
  std::int64_t moved_bytes = 0;
  RegroupTimes times = {};
  [[nodiscard]] int rank() const { return meeting->rank(); }
};

// Takes the worker's state to the point that the meeting agreed on: applies gradients, or forgets what is of another.
void settle(const Assignment& assignment, const Meeting& meeting, HeldState& held);

void connect(const Assignment& assignment, const std::string& host, const Patience& patience, Membership& membership);

// Sends and receives what the meeting's transfers say, or loads the newest checkpoint. Then what this worker's role
// asks for has arrived, and `held` has all that it had: until all workers have confirmed, somebody may have to start
// again from what is held here. Throws PeerLost.
void move_state(const Assignment& assignment, Membership& membership, HeldState& held);

}  // namespace sailor::trainer
