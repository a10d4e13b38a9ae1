#include "trainer/model/tensor_parallel.h"

#include <ATen/ATen.h>

#include "planner/model/check.h"

namespace sailor::trainer {

at::Tensor TensorParallel::enter(const at::Tensor& x) const {
  if (is_one() || !x.requires_grad()) return x;
  at::Tensor same = x.view_as(x);  // with a gradient of its own: that of the residual stream is not added up
  same.register_hook([group = group_](const at::Tensor& gradient) {
    at::Tensor sum = gradient.clone(at::MemoryFormat::Contiguous);
    group->sum(sum);
    return sum;
  });
  return same;
}

void TensorParallel::sum(const at::Tensor& x) const {
  if (is_one()) return;
  SAILOR_CHECK(x.is_contiguous(), "a sum over workers of a tensor with gaps");
  group_->sum(x.detach());
}

void TensorParallel::max(const at::Tensor& x) const {
  if (!is_one()) group_->max(x.detach());
}

}  // namespace sailor::trainer
