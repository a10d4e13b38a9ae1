// TensorParallel: how the workers of a tensor-parallel group compute a layer together, as in Megatron-LM. Between
// column_linears() and reduce_from_region() is the tensor-parallel region: there each worker computes its own attention
// heads, columns or vocabulary entries, for all tokens. Outside of it all workers have the same activations or, with
// sequence parallelism, each has a part of the tokens (sequence_parallel.h).
#pragma once

#include <vector>

#include "trainer/comm/group.h"
#include "trainer/model/shards.h"

namespace sailor::trainer {

struct Linear {
  at::Tensor weight;  // (outputs, inputs)
  at::Tensor bias;    // undefined if there is none
};

class TensorParallel {
 public:
  TensorParallel() = default;  // a group of one worker
  // `group` outlives all autograd graphs.
  TensorParallel(Group& group, TensorParallelRank rank, bool is_sequence_parallel)
      : group_(&group), rank_(rank), is_sequence_parallel_(is_sequence_parallel && rank.tensor_parallel > 1) {}

  [[nodiscard]] TensorParallelRank rank() const { return rank_; }
  [[nodiscard]] bool is_single() const { return rank_.tensor_parallel == 1; }
  [[nodiscard]] bool is_sequence_parallel() const { return is_sequence_parallel_; }

  // Enters the region: returns this worker's outputs of linear layers that have the same input. The backward pass sums
  // the gradients of the input over the workers.
  [[nodiscard]] std::vector<at::Tensor> column_linears(const at::Tensor& x, const std::vector<Linear>& linears) const;

  // Leaves the region: returns the sum over the workers, in place without sequence parallelism. The gradient of the
  // operation that made `x` must not need the values of `x`.
  [[nodiscard]] at::Tensor reduce_from_region(const at::Tensor& x) const;

  // Sums over the workers inside the region, in place. In the backward pass each worker gets the gradient of the sum.
  // The same condition holds for `x`.
  void all_reduce(const at::Tensor& x) const;

  // Takes the maximum over the workers, in place. It has no gradient.
  void all_reduce_max(const at::Tensor& x) const;

 private:
  [[nodiscard]] at::Tensor copy_to_region(const at::Tensor& x) const;

  Group* group_ = nullptr;
  TensorParallelRank rank_;
  bool is_sequence_parallel_ = false;
};

}  // namespace sailor::trainer
