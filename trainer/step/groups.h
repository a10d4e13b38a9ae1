// Groups: the groups of one generation's training. Separate ones for each kind of traffic: a message that times out
// spoils every connection of its group.
#pragma once

#include <map>
#include <memory>

#include "trainer/comm/group.h"
#include "trainer/step/roster.h"

namespace sailor::trainer {

class Groups {
 public:
  Groups(const Roster& roster, int rank, GroupFactory& factory);

  [[nodiscard]] Group& control() { return *control_; }    // the votes
  [[nodiscard]] Group& pipeline() { return *pipeline_; }  // between stages
  [[nodiscard]] Group& holders_of(int piece);             // the workers that hold this piece, to sum its gradient

 private:
  std::unique_ptr<Group> control_;
  std::unique_ptr<Group> pipeline_;
  std::map<std::vector<int>, std::unique_ptr<Group>> by_ranks_;
  std::map<int, Group*> by_piece_;
};

}  // namespace sailor::trainer
