// PeerReplicaGradients: sends the gradients of each step to the workers that keep peer replicas.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "trainer/comm/group.h"
#include "trainer/elastic/state/incoming_message.h"
#include "trainer/elastic/state/peer_replicas.h"
#include "trainer/model/layer_state.h"

namespace sailor::trainer {

// A peer replica is updated with the same gradients as the original, so after the same vote both are at the same step.
// Gradients are sent during the backward pass, as soon as they are complete.
class PeerReplicaGradients {
 public:
  // `kept`: the peer replicas that this worker keeps. `group` must outlive it; null without peer replicas.
  PeerReplicaGradients(const Roster& roster, int rank, const std::vector<PeerReplica>& peer_replicas,
                       const LayerStates& kept, Group* group);

  void begin();  // of a step; overwrites what finish() returned before
  // A complete gradient, which must not change until finish().
  void send(int layer_state, const at::Tensor& own_gradient);

  // To be called after all own gradients are sent. Returns the gradients of the kept peer replicas, by layer state.
  std::map<int, at::Tensor> finish();

  void set_timeout(std::chrono::milliseconds timeout);

 private:
  struct Outgoing {
    int tag = 0;
    int backup_holder = 0;
    int layer_state = 0;
    std::vector<StridedSpan> spans;  // in the held shard
  };
  struct Incoming {
    int tag = 0;
    int owner = 0;
    IncomingMessage incoming;
  };

  Group* group_;
  std::vector<Outgoing> outgoing_;
  std::vector<Incoming> incoming_;
  std::map<int, at::Tensor> received_;  // by layer state, in the layout of the kept shards
  std::vector<std::unique_ptr<Work>> transfers_;
};

}  // namespace sailor::trainer
