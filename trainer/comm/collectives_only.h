// CollectivesOnly: what groups share that sum and gather at once and send no messages.
#pragma once

#include <memory>

#include "core/model/check.h"
#include "trainer/comm/group.h"

namespace sailor::trainer {

class CollectivesOnly : public Group {
 public:
  std::unique_ptr<Transfer> send(const at::Tensor&, int to, int) override {
    SAILOR_CHECK(false, "a group without messages sends to rank {}", to);
  }
  std::unique_ptr<Transfer> receive(const at::Tensor&, int from, int) override {
    SAILOR_CHECK(false, "a group without messages receives from rank {}", from);
  }

 protected:
  static std::unique_ptr<Transfer> done() { return std::make_unique<Done>(); }

 private:
  class Done : public Transfer {
   public:
    void wait() override {}
  };
};

}  // namespace sailor::trainer
