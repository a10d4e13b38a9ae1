// The largest tensor-parallel size of a model.
#pragma once

#include "core/model/job_spec.h"

namespace sailor {

// The largest size at which every GPU of a group has work. One GPU computes a key-value head together with the heads
// that share it, so the number of key-value heads is the limit in practice; columns and vocabulary entries are far
// more.
int max_tensor_parallel(const ModelSpec& spec);

// The same for a job. With sequence parallelism a group must also partition the tokens of a sequence evenly; then the
// result is the largest power of two that divides the sequence length, if that is smaller.
int max_tensor_parallel(const JobSpec& job);

}  // namespace sailor
