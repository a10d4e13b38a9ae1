// TensorParallel: how the workers of one group compute a layer together. Between `enter` and `sum` each works on its
// own heads, columns or words; outside, all have the same activations.
#pragma once

#include "trainer/comm/group.h"
#include "trainer/model/shards.h"

namespace sailor::trainer {

class TensorParallel {
 public:
  TensorParallel() = default;                                                   // a group of one
  TensorParallel(Group& group, Shard shard) : group_(&group), shard_(shard) {}  // `group` outlives all graphs

  [[nodiscard]] Shard shard() const { return shard_; }
  [[nodiscard]] bool is_one() const { return shard_.degree == 1; }

  // The same values. Backward, the gradients that the workers have of it are added up.
  [[nodiscard]] at::Tensor enter(const at::Tensor& x) const;

  // Adds the workers' values, in place; backward, each gets the gradient of the sum. The operation that made `x` must
  // not need its own result for its gradient.
  void sum(const at::Tensor& x) const;

  void max(const at::Tensor& x) const;  // the largest of the workers' values, in place; not differentiated

 private:
  Group* group_ = nullptr;
  Shard shard_;
};

}  // namespace sailor::trainer
