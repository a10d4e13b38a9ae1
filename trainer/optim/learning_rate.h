// The learning rate of a step: linear warm-up, then constant, or falling to a tenth by cosine or to zero by a line.
#pragma once

#include "core/model/job_spec.h"

namespace sailor::trainer {

// `step` counts from 1, as the optimizer's bias correction does.
double learning_rate(const TrainingSpec& training, std::int64_t step);

}  // namespace sailor::trainer
