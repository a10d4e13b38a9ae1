// Regroup: forms a new generation from its workers. The order is: GenerationRendezvous::gather(), connect(),
// GenerationRendezvous::exchange(), settle(), move_state(), GenerationRendezvous::confirm(). The first two happen while
// the previous generation still trains (preparation.h). worker.cc calls the others when training has stopped.
#pragma once

#include <memory>

#include "core/protocol/agent_report.h"
#include "trainer/comm/interrupt.h"
#include "trainer/elastic/control/worker_settings.h"
#include "trainer/elastic/regroup/generation_rendezvous.h"
#include "trainer/elastic/state/held_state.h"
#include "trainer/step/training_groups.h"

namespace sailor::trainer {

// A worker's membership in one generation: its connections, and facts for its reports. Destroying a membership closes
// all its connections. By this the other workers learn that this worker has left the generation.
struct Membership {
  std::unique_ptr<GenerationRendezvous> rendezvous;
  std::shared_ptr<Interrupt> interrupt;       // aborts all groups below; null without groups
  std::shared_ptr<Group> everyone;            // all workers, including those that leave
  WorkerSchedule schedule;                    // empty for a worker that leaves
  std::unique_ptr<TrainingGroups> groups;     // null for a worker that leaves
  std::unique_ptr<Group> peer_replica_group;  // the training workers; null without peer replicas
  Timeouts timeouts;
  std::int64_t updated_by = 0;    // the generation that made the last update of the state with which this one starts
  double known_step_seconds = 0;  // mean duration of steps before this generation; 0: unknown
  std::int64_t steps_lost = 0;
  StateSource source = StateSource::kStart;
  std::int64_t streamed_bytes = 0;  // state that joining workers received before the pause, on all workers
  std::int64_t moved_bytes = 0;     // state that moved between workers during the pause, on all workers
  RegroupTimes times = {};
  [[nodiscard]] int rank() const { return rendezvous->rank(); }
};

// Brings the state of this worker to the resume point of the rendezvous. The state may already be there. Otherwise the
// function applies the gradients if they lead to the point, or drops the state. It drops the state also if there is no
// resume point.
void settle(const Assignment& assignment, const GenerationRendezvous& rendezvous, HeldState& held);

// Connects the groups of the membership, which the interrupt aborts from then on. The membership must have a
// rendezvous. Throws as the functions of Group do.
void connect(const Assignment& assignment, const WorkerSettings& settings, const std::shared_ptr<Interrupt>& interrupt,
             Membership& membership);

// Sends and receives the transfers of the rendezvous. If there is no resume point, it restores the state instead
// (state/restore.h). Afterwards `held.arrived` has the state for the role of this worker. The state that the worker had
// before stays in `held` until all workers have confirmed, because another worker may still need it. Throws as the
// functions of Group do, and as restore() does.
void move_state(const Assignment& assignment, Membership& membership, HeldState& held);

}  // namespace sailor::trainer
