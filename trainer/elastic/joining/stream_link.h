// StreamLink: sends and receives the messages of one state stream. Each pair of a source and a receiver has its own
// connection.
#pragma once

#include <chrono>
#include <memory>

#include <ATen/core/Tensor.h>

#include "trainer/comm/group.h"

namespace sailor::trainer {

// The header of a message. It announces new shards (known_shards < sent_shards), whose weights and moments follow, or a
// step that all workers have voted for (known_shards == sent_shards), with the gradients of the shards that the
// receiver has. Without any shards it is a heartbeat, which nothing follows.
struct StreamHeader {
  std::int64_t step = 0;        // the step that the new shards contain, or the step of the gradients
  std::int64_t updated_by = 0;  // the generation that made the last update of the new shards
  double squared_norm = 0;      // squared norm of the gradients of the whole model; kStepSkipped: no gradients follow
  double loss = 0;              // loss of the step
  double first_loss = 0;        // loss of the first step of the job
  int known_shards = 0;         // number of shards that the receiver already has: the first ones of the stream
  int sent_shards = 0;          // number of shards that it has after this message
  bool is_last = false;         // all workers have agreed that the generation ends with this step

  [[nodiscard]] bool is_heartbeat() const { return sent_shards == 0; }
  [[nodiscard]] bool is_step() const { return sent_shards > 0 && known_shards == sent_shards; }
};

// All functions throw CommunicationError if the connection breaks or if the peer does not make progress within
// `timeout`. The receiver acknowledges large tensors block by block. Otherwise a slow transfer of a large tensor
// would look like a stuck one.
class StreamLink {
 public:
  StreamLink(std::unique_ptr<Group> group, int peer, std::chrono::milliseconds timeout);

  void send_header(const StreamHeader& header);
  [[nodiscard]] StreamHeader receive_header();
  void send(const at::Tensor& tensor);  // flat
  void receive(const at::Tensor& into);
  // The receiver calls it when it has applied a step or stored new shards.
  void acknowledge();
  // The source calls it after each message. The receiver may first update this many elements, which takes time.
  void await_acknowledgement(std::int64_t elements);

 private:
  [[nodiscard]] bool fills_a_block(std::int64_t elements);  // both sides count in the same way

  std::unique_ptr<Group> group_;
  int peer_;
  std::chrono::milliseconds timeout_;
  std::int64_t unacknowledged_ = 0;  // elements
};

}  // namespace sailor::trainer
