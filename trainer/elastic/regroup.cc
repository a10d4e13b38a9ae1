#include "trainer/elastic/regroup.h"

#include <algorithm>
#include <numeric>

#include <ATen/ATen.h>

#include "trainer/elastic/peer_names.h"
#include "trainer/elastic/restore.h"

namespace sailor::trainer {
namespace {

std::vector<at::Tensor> tensors_of(const PieceState& state) { return {state.weights, state.momentum, state.variance}; }

// Sends and receives at once; every tensor of a move has a tag of its own.
void carry_out(const std::vector<SliceMove>& list, int rank, const ModelSpec& model, Group& group,
               PieceStates& pieces) {
  std::vector<std::unique_ptr<Transfer>> transfers;
  PieceStates received;
  int tag = 0;
  for (const SliceMove& move : list) {
    if (move.to == rank) received[move.slice] = empty_state(piece_of(model, move.slice));
    const bool is_mine = move.to == rank || move.from == rank;
    const auto tensors = is_mine ? tensors_of(move.to == rank ? received.at(move.slice) : pieces.at(move.slice))
                                 : std::vector<at::Tensor>(3);
    for (const at::Tensor& tensor : tensors) {
      if (move.to == rank) transfers.push_back(group.receive(tensor, move.from, tag));
      if (move.from == rank) transfers.push_back(group.send(tensor, move.to, tag));
      ++tag;
    }
  }
  for (const auto& transfer : transfers) transfer->wait();
  pieces.merge(received);
}

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
  membership.everyone = factory.make("everyone", ranks_below(meeting.roster().workers()));
  const bool has_role = meeting.rank() < assignment.training_workers();
  if (has_role) membership.groups = std::make_unique<Groups>(meeting.roster(), meeting.rank(), factory);
}

void move_state(const Assignment& assignment, Membership& membership, HeldState& held) {
  Meeting& meeting = *membership.meeting;
  if (!meeting.point()) {
    restore(assignment, meeting.roster(), meeting.rank(), *membership.everyone, meeting.rendezvous(), held);
    membership.source = held.step > 0 ? StateSource::kCheckpoint : StateSource::kStart;
  } else {
    carry_out(meeting.transfers().moves, meeting.rank(), assignment.model, *membership.everyone, held.pieces);
    held.step = meeting.point()->step;
    membership.source = StateSource::kMemory;
  }
  membership.steps_lost = steps_lost(meeting.holdings(), held.step);
}

void keep_only(const std::vector<int>& wanted, HeldState& held) {
  std::erase_if(held.pieces, [&](const auto& entry) { return !std::ranges::binary_search(wanted, entry.first); });
  held.reached = held.step;
}

}  // namespace sailor::trainer
