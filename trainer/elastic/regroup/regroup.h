// Regroup: the steps of a new generation after its rendezvous: connect, transfer the state, and start.
#pragma once

#include <memory>

#include "core/protocol/agent_report.h"
#include "trainer/comm/interrupt.h"
#include "trainer/elastic/control/worker_settings.h"
#include "trainer/elastic/regroup/generation_rendezvous.h"
#include "trainer/elastic/state/held_state.h"
#include "trainer/step/training_groups.h"

namespace sailor::trainer {

// A worker's membership in one generation. Destroying it closes all its connections; that is how the other workers
// learn that the generation is over for this one.
struct Membership {
  std::unique_ptr<GenerationRendezvous> rendezvous;
  std::shared_ptr<Interrupt> interrupt;       // of all groups below; null without groups
  std::unique_ptr<Group> everyone;            // all workers, including those that leave
  std::unique_ptr<TrainingGroups> groups;     // null for a worker that leaves
  std::unique_ptr<Group> peer_replica_group;  // the training workers; null without peer replicas
  Patience patience;
  double known_step_seconds = 0;  // mean duration of steps before this generation; 0: unknown
  std::int64_t steps_lost = 0;
  StateSource source = StateSource::kStart;
  std::int64_t streamed_bytes = 0;
  std::int64_t moved_bytes = 0;
  RegroupTimes times = {};
  [[nodiscard]] int rank() const { return rendezvous->rank(); }
};

// Brings the state of this worker to the resume point of the rendezvous: applies its gradients, or drops state of
// another point.
void settle(const Assignment& assignment, const GenerationRendezvous& rendezvous, HeldState& held);

void connect(const Assignment& assignment, const std::string& host, const Patience& patience, Membership& membership);

// Sends and receives the transfers of the rendezvous, or loads the newest checkpoint. Afterwards `held` contains the
// state for the role of this worker beside everything that it had before: until all workers have confirmed, another
// worker may still need the old state. Throws PeerLost.
void move_state(const Assignment& assignment, Membership& membership, HeldState& held);

}  // namespace sailor::trainer
