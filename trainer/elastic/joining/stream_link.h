// FollowLink: the messages between a feeder and its follower, over a connection of their own.
#pragma once

#include <chrono>
#include <memory>

#include <ATen/core/Tensor.h>

#include "trainer/comm/group.h"

namespace sailor::trainer {

// What precedes a step's tensors: first the gradients of the shards that are followed already, then weights and
// moments, as they are after the step, of those that are handed out with it.
struct StepNews {
  std::int64_t step = 0;    // that all have voted for; 0: there is none, the feeder is still there
  double squared_norm = 0;  // of its gradients; kStepLeftOut: there are none
  double loss = 0;
  double first_loss = 0;  // of the job's first step
  int followed = 0;       // shards, the first of the stream
  int handed_out = 0;     // with the new ones
  bool is_last = false;   // by agreement the generation ends with it
};

// Everything throws PeerLost: when the connection breaks, and when the peer gets no further for longer than the
// patience. So that this shows, whatever the size of a tensor, the follower acknowledges what it has received block by
// block.
class FollowLink {
 public:
  FollowLink(std::unique_ptr<Group> group, int peer, std::chrono::milliseconds patience);

  void tell(const StepNews& news);
  [[nodiscard]] StepNews hear();
  void send(const at::Tensor& tensor);  // flat
  void receive(const at::Tensor& into);
  void acknowledge();                                 // by the follower: it has done what the last news ask for
  void await_acknowledgement(std::int64_t elements);  // that it may have had to update

 private:
  [[nodiscard]] bool fills_a_block(std::int64_t elements);  // the same on both sides

  std::unique_ptr<Group> group_;
  int peer_;
  std::chrono::milliseconds patience_;
  std::int64_t unacknowledged_ = 0;  // elements
};

}  // namespace sailor::trainer
