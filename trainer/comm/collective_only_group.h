// CollectiveOnlyGroup: a base class for groups that have collectives but no messages, and whose collectives are
// complete when they return. GroupFactory uses such a group for a worker that is alone in its group. NoOpGroup
// (profile/) and the tests have others.
#pragma once

#include <memory>

#include "core/model/check.h"
#include "trainer/comm/group.h"

namespace sailor::trainer {

class CollectiveOnlyGroup : public Group {
 public:
  std::unique_ptr<Work> send(const at::Tensor&, int to, int) override {
    SAILOR_CHECK(false, "send to rank {} in a group without messages", to);
  }
  std::unique_ptr<Work> receive(const at::Tensor&, int from, int) override {
    SAILOR_CHECK(false, "receive from rank {} in a group without messages", from);
  }

 protected:
  static std::unique_ptr<Work> completed() { return std::make_unique<Completed>(); }

 private:
  class Completed : public Work {
   public:
    void wait() override {}
  };
};

}  // namespace sailor::trainer
