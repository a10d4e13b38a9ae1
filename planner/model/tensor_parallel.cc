#include "planner/model/tensor_parallel.h"

#include <algorithm>

namespace sailor {

int max_tensor_parallel(const ModelSpec& spec) { return std::min({spec.kv_heads, spec.ffn_size, spec.vocab_size}); }

}  // namespace sailor
