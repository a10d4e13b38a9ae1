// Sequence parallelism: outside of the tensor-parallel region each worker of the group has only a part of the tokens.
// The all-reduce of tensor parallelism becomes an all-gather on entry and a reduce-scatter on exit, which together move
// as many bytes (Korthikanti et al., "Reducing Activation Recomputation in Large Transformer Models", MLSys 2023,
// section 4.2).
//
// In a tensor of all tokens the B * T tokens of a microbatch lie in memory sequence after sequence. In a group of d
// workers, worker k has the k-th of d equal parts of this memory. Its tensor has the shape (B, T / d, H), which only
// says how many tokens it has. If B > 1, row b need not contain tokens of sequence b. This does not matter, because
// every operation outside of the region treats each token separately.
#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

#include "trainer/comm/group.h"

namespace sailor::trainer {

// Gathers the tokens of all workers and multiplies them with each of the weights, which have the shape (outputs,
// inputs). For the backward pass it keeps only this worker's tokens. The backward pass gathers all tokens again while
// it computes the gradient of the input.
std::vector<at::Tensor> all_gather_linear(Group& group, const at::Tensor& own_tokens,
                                          const std::vector<at::Tensor>& weights);

// Returns the tokens of all workers. It has no gradient.
at::Tensor all_gather_tokens(Group& group, const at::Tensor& own_tokens);

// Sums the tensor over the workers, and returns the sum for this worker's part of the tokens.
at::Tensor reduce_scatter_tokens(Group& group, const at::Tensor& all_tokens);

}  // namespace sailor::trainer
