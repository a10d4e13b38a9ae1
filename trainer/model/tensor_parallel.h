// TensorParallel: the operations with which the workers of a tensor-parallel group compute a layer together, as in
// Megatron-LM. The tensor-parallel region begins at column_linears() and ends at reduce_from_region(). Inside the
// region each worker computes its own attention heads, columns or vocabulary entries, for all tokens. Outside of it all
// workers have the same activations. With sequence parallelism each worker instead has a part of the tokens outside of
// the region (sequence_parallel.h).
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
  // `group` must outlive all autograd graphs.
  TensorParallel(Group& group, TensorParallelRank rank, bool is_sequence_parallel)
      : group_(&group), rank_(rank), is_sequence_parallel_(is_sequence_parallel && rank.tensor_parallel > 1) {}

  [[nodiscard]] TensorParallelRank rank() const { return rank_; }
  [[nodiscard]] bool is_single() const { return rank_.tensor_parallel == 1; }
  [[nodiscard]] bool is_sequence_parallel() const { return is_sequence_parallel_; }

  // Enters the region. Returns this worker's outputs of several linear layers that have the same input. The backward
  // pass sums the gradients of the input over the workers.
  [[nodiscard]] std::vector<at::Tensor> column_linears(const at::Tensor& x, const std::vector<Linear>& linears) const;

  // Leaves the region. Returns the sum of `x` over the workers. Without sequence parallelism the sum replaces the
  // values of `x`, so the gradient of the operation that made `x` must not need these values.
  [[nodiscard]] at::Tensor reduce_from_region(const at::Tensor& x) const;

  // Sums `x` over the workers inside the region, in place. In the backward pass each worker gets the gradient of the
  // sum. As above, the gradient of the operation that made `x` must not need the values of `x`.
  void all_reduce(const at::Tensor& x) const;

  // Takes the maximum over the workers, in place. It has no gradient.
  void all_reduce_max(const at::Tensor& x) const;

  // Returns the tokens of all workers, which are `x` itself without sequence parallelism. It has no gradient.
  [[nodiscard]] at::Tensor all_tokens(const at::Tensor& x) const;

 private:
  [[nodiscard]] at::Tensor copy_to_region(const at::Tensor& x) const;

  Group* group_ = nullptr;
  TensorParallelRank rank_;
  bool is_sequence_parallel_ = false;
};

}  // namespace sailor::trainer
