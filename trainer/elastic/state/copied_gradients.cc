#include "trainer/elastic/state/copied_gradients.h"

#include <ATen/ATen.h>

namespace sailor::trainer {

// All workers know of all copies, in one order: a copy's place in it is the tag of its messages.
CopiedGradients::CopiedGradients(const Roster& roster, int rank, const std::vector<StateCopy>& copies,
                                 const PieceStates& kept, Group* group)
    : group_(group) {
  for (const auto& [piece, state] : kept) received_[piece] = at::empty_like(state.weights);
  for (int tag = 0; const StateCopy& copy : copies) {
    if (copy.holder == rank) {
      const Piece part = roster.held_part(rank, copy.piece);
      outgoing_.push_back({tag, copy.keeper, copy.piece, blocks_of(part, copy.ranges)});
    }
    if (copy.keeper == rank) {
      const Piece& part = kept.at(copy.piece).part;
      Arrival arrival(received_.at(copy.piece), blocks_of(part, copy.ranges), copy.elements);
      incoming_.push_back({tag, copy.holder, std::move(arrival)});
    }
    ++tag;
  }
}

void CopiedGradients::begin() {
  for (const Incoming& one : incoming_) {
    transfers_.push_back(group_->receive(one.arrival.message(), one.holder, one.tag));
  }
}

void CopiedGradients::send(int piece, const at::Tensor& own_gradient) {
  for (const Outgoing& one : outgoing_) {
    if (one.piece != piece) continue;
    transfers_.push_back(group_->send(packed(own_gradient, one.blocks), one.keeper, one.tag));
  }
}

std::map<int, at::Tensor> CopiedGradients::finish() {
  for (const auto& transfer : transfers_) transfer->wait();
  transfers_.clear();
  for (const Incoming& one : incoming_) one.arrival.unpack();
  return received_;
}

void CopiedGradients::set_timeout(std::chrono::milliseconds timeout) {
  if (group_ != nullptr) group_->set_timeout(timeout);
}

}  // namespace sailor::trainer
