#include "trainer/elastic/regroup/regroup.h"

#include <numeric>

#include "trainer/comm/group_factory.h"
#include "trainer/elastic/regroup/peer_names.h"
#include "trainer/elastic/state/restore.h"
#include "trainer/elastic/state/state_transfer.h"

namespace sailor::trainer {
namespace {

std::vector<int> ranks_below(int count) {
  std::vector<int> ranks(static_cast<std::size_t>(count));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

// What the meeting tells of the job's losses to those who did not see them.
void learn_losses(const Meeting& meeting, HeldState& held) {
  for (const Holding& holding : meeting.holdings()) {
    if (holding.first_loss != 0) held.first_loss = holding.first_loss;
    if (!can_offer(holding, *meeting.point())) continue;
    held.loss = holding.account.step == meeting.point()->step ? holding.loss : holding.next_loss;
  }
}

// A transfer waits for all that go before it.
std::chrono::milliseconds time_of(const std::vector<UnitMove>& moves, const TransferUnits& units) {
  constexpr double kSlowest = 2e6;  // elements of the state a second: 24 MB
  double elements = 0;
  for (const UnitMove& move : moves) {
    elements += static_cast<double>(units.units()[static_cast<std::size_t>(move.unit)].elements);
  }
  return std::chrono::milliseconds(static_cast<std::int64_t>(1000 * elements / kSlowest));
}

}  // namespace

void settle(const Assignment& assignment, const Meeting& meeting, HeldState& held) {
  if (!meeting.offers_state()) {
    held = {.first_loss = held.first_loss};
  } else if (held.step < meeting.point()->step) {
    held.apply_gradients(assignment.training);
  }
  held.forget_gradients();
  if (meeting.point()) learn_losses(meeting, held);
}

void connect(const Assignment& assignment, const std::string& host, const Patience& patience, Membership& membership) {
  Meeting& meeting = *membership.meeting;
  GroupFactory factory(meeting.rendezvous(), host, meeting.rank(), patience.peer, names_of_workers(assignment));
  membership.interrupt = factory.interrupt();
  membership.everyone = factory.make_message_group("everyone", ranks_below(meeting.roster().workers()));
  const bool has_role = meeting.rank() < assignment.training_workers();
  if (!has_role) return;
  membership.groups = std::make_unique<TrainingGroups>(meeting.roster(), meeting.rank(), factory);
  if (!meeting.copies().empty()) {
    membership.copying = factory.make_message_group("copying", ranks_below(assignment.training_workers()));
  }
}

void move_state(const Assignment& assignment, Membership& membership, HeldState& held) {
  Meeting& meeting = *membership.meeting;
  const Taker taker{meeting.rank(), meeting.wanted_here()};
  if (!meeting.point()) {
    restore(assignment, taker, *membership.everyone, meeting.rendezvous(), held);
    membership.source = held.step > 0 ? StateSource::kCheckpoint : StateSource::kStart;
  } else {
    const auto moves = meeting.transfers().moves;
    membership.streamed_bytes = meeting.bytes_followed();
    membership.moved_bytes = meeting.bytes_of(moves);
    membership.everyone->set_timeout(membership.patience.peer + time_of(moves, meeting.units()));
    transfer_state(meeting.units(), moves, taker, *membership.everyone, held);
    held.step = meeting.point()->step;
    membership.source = meeting.needs_copies() ? StateSource::kPeerReplica : StateSource::kMemory;
  }
  membership.steps_lost = steps_lost(meeting.holdings(), held.step);
}

}  // namespace sailor::trainer
