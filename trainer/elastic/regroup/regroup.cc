#include "trainer/elastic/regroup/regroup.h"

#include "trainer/comm/group_factory.h"
#include "trainer/elastic/regroup/peer_names.h"
#include "trainer/elastic/state/restore.h"
#include "trainer/elastic/state/state_transfer.h"

namespace sailor::trainer {
namespace {

// Takes the losses of the job from the state reports, because a worker that did not train does not know them.
void learn_losses(const GenerationRendezvous& rendezvous, HeldState& held) {
  const ResumePoint& point = rendezvous.point().value();
  for (const StateReport& report : rendezvous.state_reports()) {
    if (report.first_loss != 0) held.first_loss = report.first_loss;
    if (!can_offer(report, point)) continue;
    held.loss = report.version.step == point.step ? report.loss : report.next_loss;
  }
}

// Returns how long all transfers may take. A transfer may have to wait until all others are done.
std::chrono::milliseconds time_of(const std::vector<UnitMove>& moves, const TransferUnits& units) {
  constexpr double kSlowest = 2e6;  // elements of the state per second: 24 MB/s
  double elements = 0;
  for (const UnitMove& move : moves) {
    elements += static_cast<double>(units.units()[static_cast<std::size_t>(move.unit)].elements);
  }
  return std::chrono::milliseconds(static_cast<std::int64_t>(1000 * elements / kSlowest));
}

}  // namespace

void settle(const Assignment& assignment, const GenerationRendezvous& rendezvous, HeldState& held) {
  if (!rendezvous.offers_state()) {
    held = {.first_loss = held.first_loss};
  } else if (held.step < rendezvous.point().value().step) {
    held.apply_gradients(assignment.training);
  }
  held.forget_gradients();
  if (rendezvous.point()) learn_losses(rendezvous, held);
}

void connect(const Assignment& assignment, const WorkerSettings& settings, const std::shared_ptr<Interrupt>& interrupt,
             Membership& membership) {
  GenerationRendezvous& rendezvous = *membership.rendezvous;
  GroupFactory factory(rendezvous.store(), settings.host, rendezvous.rank(), settings.timeouts.peer,
                       {.names = names_of_workers(assignment),
                        .make_device_backend = settings.make_device_backend,
                        .connect_timeout = settings.timeouts.join,
                        .interrupt = interrupt});
  membership.interrupt = factory.interrupt();
  membership.everyone = factory.make_message_group("everyone", rendezvous.roster().workers());
  const bool has_role = rendezvous.rank() < assignment.training_workers();
  if (!has_role) return;
  const WorkerSlot& slot = assignment.workers.at(static_cast<std::size_t>(rendezvous.rank()));
  membership.schedule = worker_schedule_of(assignment, slot.role.value());
  membership.groups = std::make_unique<TrainingGroups>(rendezvous.roster(), rendezvous.rank(), membership.schedule,
                                                       factory, membership.everyone);
  if (!rendezvous.peer_replicas().empty()) {
    membership.peer_replica_group = factory.make_message_group("peer-replicas", assignment.training_workers());
  }
}

void move_state(const Assignment& assignment, Membership& membership, HeldState& held) {
  GenerationRendezvous& rendezvous = *membership.rendezvous;
  const TransferTarget target{rendezvous.rank(), rendezvous.wanted_here()};
  if (!rendezvous.point()) {
    restore(assignment, target, *membership.everyone, rendezvous.store(), held);
    membership.source = held.step > 0 ? StateSource::kCheckpoint : StateSource::kStart;
  } else {
    const auto moves = rendezvous.transfers().moves;
    membership.streamed_bytes = rendezvous.streamed_bytes();
    membership.moved_bytes = rendezvous.bytes_of(moves);
    membership.everyone->set_timeout(membership.timeouts.peer + time_of(moves, rendezvous.units()));
    transfer_state(rendezvous.units(), moves, target, *membership.everyone, held);
    held.step = rendezvous.point()->step;
    membership.source = rendezvous.needs_peer_replicas() ? StateSource::kPeerReplica : StateSource::kMemory;
  }
  membership.steps_lost = steps_lost(rendezvous.state_reports(), held.step);
}

}  // namespace sailor::trainer
