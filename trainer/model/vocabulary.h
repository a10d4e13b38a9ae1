// One worker's shard of a vocabulary: the rows [begin, begin + count) of its weights.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace sailor::trainer {

// Tensors of the shape of the token ids.
struct TokenRows {
  at::Tensor rows;          // the row of each token in the shard; 0 for a token that is not in it
  at::Tensor is_elsewhere;  // whether the token is not in the shard
};

TokenRows rows_of_tokens(const at::Tensor& token_ids, std::int64_t begin, std::int64_t count);

}  // namespace sailor::trainer
