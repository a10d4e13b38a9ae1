// TensorParallel: how the workers of one group compute a layer together. Inside, from the column-parallel linears to
// `leave`, each works on its own heads, columns or words, of all tokens. Outside all have the same activations, or,
// with sequence parallelism, each a share of the tokens (sequence_parallel.h).
#pragma once

#include <vector>

#include "trainer/comm/group.h"
#include "trainer/model/shards.h"

namespace sailor::trainer {

struct Linear {
  at::Tensor weight;  // (outputs, inputs)
  at::Tensor bias;    // undefined where there is none
};

class TensorParallel {
 public:
  TensorParallel() = default;  // a group of one
  // `group` outlives all graphs.
  TensorParallel(Group& group, TensorParallelRank rank, bool deals_tokens)
      : group_(&group), rank_(rank), deals_tokens_(deals_tokens && rank.tensor_parallel > 1) {}

  [[nodiscard]] TensorParallelRank rank() const { return rank_; }
  [[nodiscard]] bool is_one() const { return rank_.tensor_parallel == 1; }
  [[nodiscard]] bool deals_tokens() const { return deals_tokens_; }  // sequence parallelism

  // From outside to inside: this worker's outputs of linears that have one input. Backward, the gradients that the
  // workers have of the input are added up.
  [[nodiscard]] std::vector<at::Tensor> column_linears(const at::Tensor& x, const std::vector<Linear>& linears) const;

  // From inside to outside: the sum of the workers' values, in place where nothing is dealt. The operation that made
  // `x` must not need its own result for its gradient.
  [[nodiscard]] at::Tensor leave(const at::Tensor& x) const;

  // Inside: adds the workers' values, in place; backward, each gets the gradient of the sum. As for leave().
  void sum(const at::Tensor& x) const;

  void max(const at::Tensor& x) const;  // the largest of the workers' values, in place; not differentiated

 private:
  [[nodiscard]] at::Tensor enter(const at::Tensor& x) const;

  Group* group_ = nullptr;
  TensorParallelRank rank_;
  bool deals_tokens_ = false;
};

}  // namespace sailor::trainer
