// The learning rate schedule: linear warm-up, then constant, cosine decay to a tenth of the peak, or linear decay to
// zero.
#pragma once

#include "core/model/job_spec.h"

namespace sailor::trainer {

// Returns the learning rate of a step. `step` counts from 1, as in the bias correction of AdamW.
double learning_rate(const TrainingSpec& training, std::int64_t step);

}  // namespace sailor::trainer
