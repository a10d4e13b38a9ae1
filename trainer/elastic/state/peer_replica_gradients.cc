#include "trainer/elastic/state/peer_replica_gradients.h"

#include <ATen/ATen.h>

namespace sailor::trainer {

// All workers know of all copies, in one order: a copy's place in it is the tag of its messages.
CopiedGradients::CopiedGradients(const Roster& roster, int rank, const std::vector<StateCopy>& copies,
                                 const LayerStates& kept, Group* group)
    : group_(group) {
  for (const auto& [layer_state, state] : kept) received_[layer_state] = at::empty_like(state.weights);
  for (int tag = 0; const StateCopy& copy : copies) {
    if (copy.holder == rank) {
      const StateLayout shard = roster.held_shard(rank, copy.layer_state);
      outgoing_.push_back({tag, copy.keeper, copy.layer_state, spans_of(shard, copy.slices)});
    }
    if (copy.keeper == rank) {
      const StateLayout& shard = kept.at(copy.layer_state).layout;
      Arrival arrival(received_.at(copy.layer_state), spans_of(shard, copy.slices), copy.elements);
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

void CopiedGradients::send(int layer_state, const at::Tensor& own_gradient) {
  for (const Outgoing& one : outgoing_) {
    if (one.layer_state != layer_state) continue;
    transfers_.push_back(group_->send(packed(own_gradient, one.spans), one.keeper, one.tag));
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
