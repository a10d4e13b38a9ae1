// NoOpGroup: a group whose collectives do nothing. With it the memory of one worker of a tensor-parallel group can be
// measured without the other workers. A real backend would falsify the count: it allocates its own tensors, and its
// threads free the tensors of the caller at any later time.
#pragma once

#include <memory>

#include "trainer/comm/collective_only_group.h"

namespace sailor::trainer {

class NoOpGroup : public CollectiveOnlyGroup {
 public:
  explicit NoOpGroup(int size) : size_(size) {}

  [[nodiscard]] int size() const override { return size_; }
  std::unique_ptr<Work> start_all_reduce(const at::Tensor&) override { return completed(); }
  std::unique_ptr<Work> start_reduce_scatter(const at::Tensor&, const at::Tensor&) override { return completed(); }
  std::unique_ptr<Work> start_all_gather(const at::Tensor&, const at::Tensor&) override { return completed(); }
  void all_reduce_max(const at::Tensor&) override {}

 private:
  int size_;
};

}  // namespace sailor::trainer
