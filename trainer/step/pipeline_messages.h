// PipelineMessages: the activations and gradients that a worker exchanges with the neighbouring stages during one step.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/schedule/schedule.h"
#include "trainer/step/roster.h"
#include "trainer/step/training_groups.h"

namespace sailor::trainer {

struct MessageShape {
  std::vector<std::int64_t> sizes;  // sizes of the whole tensor: sequences, tokens, hidden size
  at::ScalarType type = at::kFloat;
  bool is_sequence_parallel = false;  // each worker of a tensor-parallel group has only a part of the tokens
};

// A send returns at once. A receive is posted kReceivesAhead receives before its place in the list of operations; the
// pass that needs its message takes it. So messages travel while this worker computes what does not need them, and a
// sender that has to wait for a receive never waits for longer than if each receive waited for its message. Every
// element goes once from one tensor-parallel group to the other, even if they differ in size (activation_resharding.h).
// Each receiver gets one interval of the tensor. With sequence parallelism this interval is its part of the tokens.
// Without sequence parallelism the receivers then gather their intervals to the whole tensor.
class PipelineMessages {
 public:
  // All arguments outlive this object.
  PipelineMessages(TrainingGroups& groups, const Roster& roster, Role role, MessageShape shape,
                   const std::vector<Operation>& operations);

  void send(const Operation& operation, const at::Tensor& tensor);
  // Tells that the worker has reached this receive in the list of operations, so that the next ones are posted. Call it
  // for every receive, in the order of the operations.
  void reach(const Operation& receive);
  // Waits for the message that the pass needs. The list of operations has its receive earlier. `acknowledged` is the
  // pass's entry in WorkerSchedule: the memory of so many messages to the same peer is freed.
  [[nodiscard]] at::Tensor take_for(const Operation& pass, int acknowledged);
  // Waits until at most this many messages are not sent yet.
  void finish(std::size_t unfinished = 0);

 private:
  struct PostedReceive {
    Operation operation;
    at::Tensor interval;  // it has the length of the longest interval of the group
    std::vector<std::unique_ptr<Work>> works;
  };
  struct Sent {
    Role peer;  // of shard 0
    std::vector<std::unique_ptr<Work>> works;
  };
  void post_receives_until(std::size_t count);
  void free_acknowledged(const Role& peer, int count);
  [[nodiscard]] Role peer_of(const Operation& operation, int index) const;
  [[nodiscard]] int tensor_parallel_of_peer(const Operation& operation) const;
  [[nodiscard]] std::int64_t elements() const;
  [[nodiscard]] at::Tensor gather_intervals(const at::Tensor& interval) const;

  TrainingGroups& groups_;
  const Roster& roster_;
  Role role_;
  int tensor_parallel_;
  MessageShape shape_;
  std::vector<Operation> receives_;  // of the whole list
  std::size_t reached_ = 0;          // the first of `receives_` whose place in the list is not reached
  std::size_t next_to_post_ = 0;
  std::deque<PostedReceive> posted_;  // whose messages were not taken
  std::deque<Sent> sent_;             // it keeps their tensors
};

}  // namespace sailor::trainer
