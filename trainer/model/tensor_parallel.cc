#include "trainer/model/tensor_parallel.h"

#include <ATen/ATen.h>

#include "core/model/check.h"
#include "trainer/model/sequence_parallel.h"

namespace sailor::trainer {
namespace {

std::vector<at::Tensor> weights_of(const std::vector<Linear>& linears) {
  std::vector<at::Tensor> weights;
  weights.reserve(linears.size());
  for (const Linear& linear : linears) weights.push_back(linear.weight);
  return weights;
}

}  // namespace

std::vector<at::Tensor> TensorParallel::column_linears(const at::Tensor& x, const std::vector<Linear>& linears) const {
  std::vector<at::Tensor> outputs;
  if (deals_tokens_) {
    outputs = gathered_products(*group_, x, weights_of(linears));
    for (std::size_t i = 0; i < linears.size(); ++i) {
      if (linears[i].bias.defined()) outputs[i].add_(linears[i].bias);
    }
    return outputs;
  }
  const at::Tensor same = enter(x);
  outputs.reserve(linears.size());
  for (const Linear& linear : linears) outputs.push_back(at::linear(same, linear.weight, linear.bias));
  return outputs;
}

at::Tensor TensorParallel::leave(const at::Tensor& x) const {
  if (deals_tokens_) return scattered_sum(*group_, x);
  sum(x);
  return x;
}

void TensorParallel::sum(const at::Tensor& x) const {
  if (is_one()) return;
  SAILOR_CHECK(x.is_contiguous(), "a sum over workers of a tensor with gaps");
  group_->sum(x.detach());
}

void TensorParallel::max(const at::Tensor& x) const {
  if (!is_one()) group_->max(x.detach());
}

// The same values. Backward, the gradients that the workers have of it are added up.
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

}  // namespace sailor::trainer
