// AdamW with decoupled weight decay, on what a worker holds of one layer state.
#pragma once

#include "core/model/job_spec.h"
#include "trainer/model/layer_state.h"

namespace sailor::trainer {

// Applies the update of `step` (counted from 1) with the gradient, laid out as the state, times `gradient_scale`;
// what is left of the gradient is of no use.
void apply_adamw(const LayerState& state, const at::Tensor& gradient, const TrainingSpec& training, std::int64_t step,
                 double gradient_scale);

// What gradients of this global norm are multiplied with to respect the job's limit; 1 where there is none.
double clip_scale(const OptimizerSpec& optimizer, double squared_norm);

}  // namespace sailor::trainer
