// MuteGroup: a group whose other members say nothing, for whoever counts memory and needs no numbers. A backend would
// keep tensors of its own, and drops what it was given in threads of its own, whenever they come to it.
#pragma once

#include <memory>

#include "planner/model/check.h"
#include "trainer/comm/group.h"

namespace sailor::trainer {

class MuteGroup : public Group {
 public:
  explicit MuteGroup(int size) : size_(size) {}

  [[nodiscard]] int size() const override { return size_; }
  std::unique_ptr<Transfer> start_sum(const at::Tensor&) override { return std::make_unique<Done>(); }
  std::unique_ptr<Transfer> start_sum_of_parts(const at::Tensor&, const at::Tensor&) override {
    return std::make_unique<Done>();
  }
  std::unique_ptr<Transfer> start_gather(const at::Tensor&, const at::Tensor&) override {
    return std::make_unique<Done>();
  }
  void max(const at::Tensor&) override {}
  std::unique_ptr<Transfer> send(const at::Tensor&, int to, int) override {
    SAILOR_CHECK(false, "a mute group sends to rank {}", to);
  }
  std::unique_ptr<Transfer> receive(const at::Tensor&, int from, int) override {
    SAILOR_CHECK(false, "a mute group receives from rank {}", from);
  }

 private:
  class Done : public Transfer {
   public:
    void wait() override {}
  };

  int size_;
};

}  // namespace sailor::trainer
