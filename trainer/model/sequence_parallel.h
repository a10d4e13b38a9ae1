// Sequence parallelism: outside of the linears of a tensor-parallel group each worker has a share of the tokens. What a
// sum over the group was becomes an all-gather on the way in and a reduce-scatter on the way out, of as many bytes
// together (Korthikanti et al., "Reducing Activation Recomputation in Large Transformer Models", MLSys 2023,
// section 4.2).
//
// A microbatch's tokens are dealt as they lie in memory, sequence after sequence, in equal stretches: worker k of d has
// the k-th d-th of its rows. A share has the shape (B, T / d, H) only so that it says how many there are; where B > 1
// its rows may be of any of the sequences. What happens outside never looks beyond a token.
#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

#include "trainer/comm/group.h"

namespace sailor::trainer {

// All tokens times each of the weights (outputs, inputs), from the worker's share of the tokens. Keeps the share alone
// for the backward pass, which gathers the tokens once more while it computes the gradient of the input.
std::vector<at::Tensor> gathered_products(Group& group, const at::Tensor& share,
                                          const std::vector<at::Tensor>& weights);

// The worker's share of the tokens of the sum of all workers' values.
at::Tensor scattered_sum(Group& group, const at::Tensor& whole);

}  // namespace sailor::trainer
