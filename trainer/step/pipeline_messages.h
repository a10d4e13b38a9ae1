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

// A send returns at once. Receives are posted a few operations ahead, so receive() must be called in the order of the
// operations. Every element goes once from one tensor-parallel group to the other, even if they differ in size
// (activation_resharding.h). Each receiver gets one interval of the tensor. With sequence parallelism this interval is
// its part of the tokens. Without sequence parallelism the receivers then gather their intervals to the whole tensor.
class PipelineMessages {
 public:
  // All arguments outlive this object.
  PipelineMessages(TrainingGroups& groups, const Roster& roster, Role role, MessageShape shape,
                   const std::vector<Operation>& operations);

  void send(const Operation& operation, const at::Tensor& tensor);
  // `acknowledged` is the operation's entry in WorkerSchedule: the memory of so many messages to the same peer is
  // freed.
  [[nodiscard]] at::Tensor receive(const Operation& operation, int acknowledged);
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
  void post_receives();
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
  std::deque<Operation> to_receive_;  // not posted yet
  std::deque<PostedReceive> posted_;
  std::deque<Sent> sent_;  // it keeps their tensors
};

}  // namespace sailor::trainer
