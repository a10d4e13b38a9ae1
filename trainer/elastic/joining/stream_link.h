// StreamLink: the messages from a state source to a joining worker, over their own connection.
#pragma once

#include <chrono>
#include <memory>

#include <ATen/core/Tensor.h>

#include "trainer/comm/group.h"

namespace sailor::trainer {

// The header of a step's tensors. The gradients of all shards that the joining worker already has come first. Then come
// weights and moments of the shards that it receives with this step, as they are after the step.
struct StepHeader {
  std::int64_t step = 0;  // a step that all workers have voted for; 0: no step, the source only shows that it is alive
  double squared_norm = 0;  // of its gradients; kStepSkipped: no gradients follow
  double loss = 0;
  double first_loss = 0;  // of the first step of the job
  int known_shards = 0;   // the first shards of the stream, which the joining worker already has
  int sent_shards = 0;    // including the new ones
  bool is_last = false;   // all workers have agreed that the generation ends with this step
};

// All functions throw PeerLost if the connection breaks or if the peer makes no progress for longer than the patience.
// Tensors can be large, so the joining worker acknowledges the data in blocks; otherwise a slow transfer could not be
// distinguished from a stuck one.
class StreamLink {
 public:
  StreamLink(std::unique_ptr<Group> group, int peer, std::chrono::milliseconds patience);

  void send_header(const StepHeader& header);
  [[nodiscard]] StepHeader receive_header();
  void send(const at::Tensor& tensor);  // flat
  void receive(const at::Tensor& into);
  void acknowledge();                                 // by the joining worker, when it has applied the step
  void await_acknowledgement(std::int64_t elements);  // `elements`: how many the peer may have to update first

 private:
  [[nodiscard]] bool fills_a_block(std::int64_t elements);  // both sides count alike

  std::unique_ptr<Group> group_;
  int peer_;
  std::chrono::milliseconds patience_;
  std::int64_t unacknowledged_ = 0;  // elements
};

}  // namespace sailor::trainer
