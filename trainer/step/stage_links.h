// StageLinks: a worker's messages to and from the neighbouring stages during one step.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/schedule/schedule.h"
#include "trainer/step/groups.h"
#include "trainer/step/roster.h"

namespace sailor::trainer {

struct MessageShape {
  std::vector<std::int64_t> sizes;  // of the whole tensor: sequences, tokens, hidden size
  at::ScalarType type = at::kFloat;
  bool is_dealt = false;  // each worker of a tensor-parallel group has its share of the tokens
};

// Sends return at once; receives are posted a few ahead of their place, in the order of the operations. Between
// tensor-parallel groups a tensor crosses once, whatever their degrees (crossings.h): each receiver gets one stretch of
// it. That is its share of the tokens, where they are dealt; else the receivers put their stretches together.
class StageLinks {
 public:
  // All of them outlive the links.
  StageLinks(Groups& groups, const Roster& roster, Role role, MessageShape shape,
             const std::vector<Operation>& operations);

  void send(const Operation& operation, const at::Tensor& tensor);
  [[nodiscard]] at::Tensor receive(const Operation& operation);
  void finish();  // waits until everything that was sent has left

 private:
  struct Posted {
    Operation operation;
    at::Tensor part;  // as long as the longest of the group
    std::vector<std::unique_ptr<Transfer>> transfers;
  };
  void post_receives();
  [[nodiscard]] Role peer_of(const Operation& operation, int shard) const;
  [[nodiscard]] int degree_of_peer(const Operation& operation) const;
  [[nodiscard]] std::int64_t elements() const;
  [[nodiscard]] at::Tensor gathered(const at::Tensor& part) const;

  Groups& groups_;
  const Roster& roster_;
  Role role_;
  int degree_;
  MessageShape shape_;
  std::deque<Operation> to_receive_;  // not posted yet
  std::deque<Posted> posted_;
  std::vector<std::unique_ptr<Transfer>> sent_;
};

}  // namespace sailor::trainer
