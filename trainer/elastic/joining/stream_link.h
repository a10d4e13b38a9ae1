// StreamLink: sends and receives the messages of one state stream. Each pair of a source and a joining worker has its
// own connection.
#pragma once

#include <chrono>
#include <memory>

#include <ATen/core/Tensor.h>

#include "trainer/comm/group.h"

namespace sailor::trainer {

// The header of a step. The tensors of the step follow it: first the gradients of all shards that the joining worker
// already has, then weights and moments of the shards that are new in this step. The new shards have the values after
// the step.
struct StepHeader {
  std::int64_t step = 0;    // a step that all workers have voted for; 0: a sign of life that no tensors follow
  double squared_norm = 0;  // squared norm of the gradients of the whole model; kStepSkipped: no gradients follow
  double loss = 0;          // loss of the step
  double first_loss = 0;    // loss of the first step of the job
  int known_shards = 0;     // number of shards that the joining worker already has: the first ones of the stream
  int sent_shards = 0;      // number of shards that it has after this step, including the new ones
  bool is_last = false;     // all workers have agreed that the generation ends with this step
};

// All functions throw CommunicationError if the connection breaks or if the peer does not make progress within
// `timeout`. The joining worker acknowledges large tensors block by block. Otherwise a slow transfer of a large tensor
// would look like a stuck one.
class StreamLink {
 public:
  StreamLink(std::unique_ptr<Group> group, int peer, std::chrono::milliseconds timeout);

  void send_header(const StepHeader& header);
  [[nodiscard]] StepHeader receive_header();
  void send(const at::Tensor& tensor);  // flat
  void receive(const at::Tensor& into);
  // The joining worker calls it when it has applied a step.
  void acknowledge();
  // The source calls it after a step. The joining worker may first update this many elements, which takes time.
  void await_acknowledgement(std::int64_t elements);

 private:
  [[nodiscard]] bool fills_a_block(std::int64_t elements);  // both sides count in the same way

  std::unique_ptr<Group> group_;
  int peer_;
  std::chrono::milliseconds timeout_;
  std::int64_t unacknowledged_ = 0;  // elements
};

}  // namespace sailor::trainer
