// PeerReplicaGradients: sends the gradients of each step to the workers that keep peer replicas of this worker's state,
// and receives the gradients of the peer replicas that this worker keeps.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "trainer/comm/group.h"
#include "trainer/elastic/state/incoming_message.h"
#include "trainer/elastic/state/peer_replicas.h"
#include "trainer/model/layer_state.h"

namespace sailor::trainer {

// A peer replica is updated with the same gradients as the original, so both are at the same step after each vote.
// Gradients are sent during the backward pass, as soon as they are complete. For each step call begin(), then send()
// for each layer state, then finish().
class PeerReplicaGradients {
 public:
  // `kept`: the peer replicas that this worker keeps. `group` must outlive it; null without peer replicas.
  PeerReplicaGradients(const Roster& roster, int rank, const std::vector<PeerReplica>& peer_replicas,
                       const LayerStates& kept, Group* group);

  void begin();  // starts a step and overwrites the tensors that finish() returned before
  // Sends the complete gradient of this worker's shard of a layer state. The tensor must not change until finish().
  void send(int layer_state, const at::Tensor& own_gradient);

  // Waits for all messages of the step. Call it after the last send(). Returns the gradients of the peer replicas that
  // this worker keeps, by layer state.
  std::map<int, at::Tensor> finish();

  void set_timeout(std::chrono::milliseconds timeout);

 private:
  struct Outgoing {
    int tag = 0;
    int backup_holder = 0;
    int layer_state = 0;
    std::vector<StridedSpan> spans;  // place in the held shard
  };
  struct Incoming {
    int tag = 0;
    int owner = 0;
    IncomingMessage incoming;
  };

  Group* group_;
  std::vector<Outgoing> outgoing_;
  std::vector<Incoming> incoming_;
  std::map<int, at::Tensor> received_;  // keyed by layer state; the layout is that of the kept shards
  std::vector<std::unique_ptr<Work>> transfers_;
};

}  // namespace sailor::trainer
