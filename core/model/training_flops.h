// The arithmetic that training a model needs, whatever the system that trains it. From it follows the model FLOPs
// utilization (MFU; Chowdhery et al., PaLM, appendix B).
#pragma once

#include "core/model/job_spec.h"

namespace sailor {

// Forward and backward pass over one token: six operations for each parameter that is part of a matrix product, and the
// products of attention. Recomputed activations do not count. As in the PaLM paper, attention counts as if every token
// attended to the whole sequence.
Flops training_flops_per_token(const ModelSpec& model, int sequence_length);

// The share of `peak` that a job uses at this speed. `peak` is the sum over its GPUs, above 0.
double model_flops_utilization(const JobSpec& job, double tokens_per_second, FlopsPerSecond peak);

}  // namespace sailor
