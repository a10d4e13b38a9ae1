#include "trainer/elastic/state/peer_replica_gradients.h"

#include <ATen/ATen.h>

namespace sailor::trainer {

// All workers know all peer replicas in the same order. The position in this order is the tag of the messages.
PeerReplicaGradients::PeerReplicaGradients(const Roster& roster, int rank,
                                           const std::vector<PeerReplica>& peer_replicas, const LayerStates& kept,
                                           Group* group)
    : group_(group) {
  for (const auto& [layer_state, state] : kept) received_[layer_state] = at::empty_like(state.weights);
  for (int tag = 0; const PeerReplica& replica : peer_replicas) {
    if (replica.owner == rank) {
      const StateLayout shard = roster.held_shard(rank, replica.layer_state);
      outgoing_.push_back({tag, replica.backup_holder, replica.layer_state, spans_of(shard, replica.slices)});
    }
    if (replica.backup_holder == rank) {
      const StateLayout& shard = kept.at(replica.layer_state).layout;
      IncomingMessage incoming(received_.at(replica.layer_state), spans_of(shard, replica.slices), replica.elements);
      incoming_.push_back({tag, replica.owner, std::move(incoming)});
    }
    ++tag;
  }
}

void PeerReplicaGradients::begin() {
  for (const Incoming& one : incoming_) {
    transfers_.push_back(group_->receive(one.incoming.message(), one.owner, one.tag));
  }
}

void PeerReplicaGradients::send(int layer_state, const at::Tensor& own_gradient) {
  for (const Outgoing& one : outgoing_) {
    if (one.layer_state != layer_state) continue;
    transfers_.push_back(group_->send(packed(own_gradient, one.spans), one.backup_holder, one.tag));
  }
}

std::map<int, at::Tensor> PeerReplicaGradients::finish() {
  for (const auto& transfer : transfers_) transfer->wait();
  transfers_.clear();
  for (const Incoming& one : incoming_) one.incoming.unpack();
  return received_;
}

void PeerReplicaGradients::set_timeout(std::chrono::milliseconds timeout) {
  if (group_ != nullptr) group_->set_timeout(timeout);
}

}  // namespace sailor::trainer
