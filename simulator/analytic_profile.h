// Analytic profile: time and memory of a layer from the model's shape and the accelerator's data sheet, so that any
// model can be planned on any known GPU without having run there. simulator/README.md lists the formulas.
#pragma once

#include "planner/model/accelerator.h"
#include "planner/model/job_spec.h"
#include "planner/model/profile.h"

namespace sailor {

LayerTime analytic_layer_time(const ModelSpec& model, const TrainingSpec& training, const AcceleratorSpec& accelerator,
                              ProfilePoint point, int layer);

LayerMemory analytic_layer_memory(const ModelSpec& model, const TrainingSpec& training, int tensor_parallel, int layer);

// Bytes of one number in the job's precision.
double element_size(Precision precision);

}  // namespace sailor
