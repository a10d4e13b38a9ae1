// StageLinks: a worker's messages to and from the neighbouring stages during one step.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "planner/schedule/schedule.h"
#include "trainer/comm/group.h"
#include "trainer/step/roster.h"

namespace sailor::trainer {

// Sends return at once; receives are posted a few ahead of their place, in the order of the operations.
class StageLinks {
 public:
  StageLinks(Group& pipeline, const Roster& roster, Role role, std::vector<std::int64_t> message_shape,
             const std::vector<Operation>& operations);

  void send(const Operation& operation, const at::Tensor& tensor);
  [[nodiscard]] at::Tensor receive(const Operation& operation);
  void finish();  // waits until everything that was sent has left

 private:
  struct Posted {
    Operation operation;
    at::Tensor tensor;
    std::unique_ptr<Transfer> transfer;
  };
  void post_receives();
  [[nodiscard]] int rank_of_peer(const Operation& operation) const;

  Group& pipeline_;
  const Roster& roster_;
  Role role_;
  std::vector<std::int64_t> shape_;
  std::deque<Operation> to_receive_;  // not posted yet
  std::deque<Posted> posted_;
  std::vector<std::unique_ptr<Transfer>> sent_;
};

}  // namespace sailor::trainer
