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
  if (is_sequence_parallel_) {
    outputs = all_gather_linear(*group_, x, weights_of(linears));
    for (std::size_t i = 0; i < linears.size(); ++i) {
      if (linears[i].bias.defined()) outputs[i].add_(linears[i].bias);
    }
    return outputs;
  }
  const at::Tensor same = copy_to_region(x);
  outputs.reserve(linears.size());
  for (const Linear& linear : linears) outputs.push_back(at::linear(same, linear.weight, linear.bias));
  return outputs;
}

at::Tensor TensorParallel::reduce_from_region(const at::Tensor& x) const {
  if (is_sequence_parallel_) return reduce_scatter_tokens(*group_, x);
  all_reduce(x);
  return x;
}

void TensorParallel::all_reduce(const at::Tensor& x) const {
  if (is_single()) return;
  SAILOR_CHECK(x.is_contiguous(), "all-reduce of a tensor that is not contiguous");
  group_->all_reduce(x.detach());
}

void TensorParallel::all_reduce_max(const at::Tensor& x) const {
  if (!is_single()) group_->all_reduce_max(x.detach());
}

at::Tensor TensorParallel::all_tokens(const at::Tensor& x) const {
  return is_sequence_parallel_ ? all_gather_tokens(*group_, x) : x.detach();
}

// Returns the same values. The backward pass sums their gradients over the workers.
at::Tensor TensorParallel::copy_to_region(const at::Tensor& x) const {
  if (is_single() || !x.requires_grad()) return x;
  at::Tensor same = x.view_as(x);  // has a gradient of its own, because that of the residual stream is not summed
  same.register_hook([group = group_](const at::Tensor& gradient) {
    at::Tensor sum = gradient.clone(at::MemoryFormat::Contiguous);
    group->all_reduce(sum);
    return sum;
  });
  return same;
}

}  // namespace sailor::trainer
