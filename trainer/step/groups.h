// Groups: the groups of one generation's training. Separate ones for each kind of traffic: a message that times out
// spoils every connection of its group, and what one group has started keeps no other waiting.
#pragma once

#include <map>
#include <memory>

#include "trainer/comm/group.h"
#include "trainer/comm/interrupt.h"
#include "trainer/step/roster.h"

namespace sailor::trainer {

class Groups {
 public:
  Groups(const Roster& roster, int rank, GroupFactory& factory);

  void set_timeout(std::chrono::milliseconds timeout);
  void check() const { interrupt_->check(); }  // throws PeerLost once they have been interrupted

  [[nodiscard]] Group& control() { return *control_; }           // the votes
  [[nodiscard]] Group& pipeline() { return *pipeline_; }         // between stages
  [[nodiscard]] Group& tensor_parallel() { return *parallel_; }  // within the layers
  [[nodiscard]] Group& of(const std::vector<int>& holders);      // of one of the worker's units, to sum its gradient

 private:
  std::shared_ptr<Interrupt> interrupt_;
  std::unique_ptr<Group> control_;
  std::unique_ptr<Group> pipeline_;
  std::unique_ptr<Group> parallel_;
  std::map<std::vector<int>, std::unique_ptr<Group>> by_holders_;
};

}  // namespace sailor::trainer
