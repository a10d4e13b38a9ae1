// MuteGroup: a group whose other members say nothing, for whoever counts memory and needs no numbers. A backend would
// keep tensors of its own, and drops what it was given in threads of its own, whenever they come to it.
#pragma once

#include <memory>

#include "trainer/comm/collectives_only.h"

namespace sailor::trainer {

class MuteGroup : public CollectivesOnly {
 public:
  explicit MuteGroup(int size) : size_(size) {}

  [[nodiscard]] int size() const override { return size_; }
  std::unique_ptr<Transfer> start_sum(const at::Tensor&) override { return done(); }
  std::unique_ptr<Transfer> start_sum_of_parts(const at::Tensor&, const at::Tensor&) override { return done(); }
  std::unique_ptr<Transfer> start_gather(const at::Tensor&, const at::Tensor&) override { return done(); }
  void max(const at::Tensor&) override {}

 private:
  int size_;
};

}  // namespace sailor::trainer
