#include "core/model/tensor_parallel.h"

#include <algorithm>
#include <bit>

namespace sailor {

int max_tensor_parallel(const ModelSpec& spec) { return std::min({spec.kv_heads, spec.ffn_size, spec.vocab_size}); }

int max_tensor_parallel(const JobSpec& job) {
  const int most = max_tensor_parallel(job.model);
  if (!job.training.uses_sequence_parallelism()) return most;
  return std::min(most, 1 << std::countr_zero(static_cast<unsigned>(job.training.sequence_length)));
}

}  // namespace sailor
