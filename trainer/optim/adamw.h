// AdamW (Adam with decoupled weight decay) for one shard of a layer state.
#pragma once

#include "core/model/job_spec.h"
#include "trainer/model/layer_state.h"

namespace sailor::trainer {

// Applies the update of `step`, which counts from 1, to the state. The gradient has the layout of the state. The
// function multiplies it by `gradient_scale`, and may overwrite it.
void apply_adamw(const LayerState& state, const at::Tensor& gradient, const TrainingSpec& training, std::int64_t step,
                 double gradient_scale);

// Returns the factor that limits gradients of this global norm to the job's clip norm, or 1 if it has none.
double clip_scale(const OptimizerSpec& optimizer, double squared_norm);

}  // namespace sailor::trainer
