// Analytic profile: time and memory of a layer from the model's shape and the accelerator's data sheet, so that any
// model can be planned on any known GPU without having run there. docs/simulator.md lists the formulas.
#pragma once

#include "core/model/accelerator.h"
#include "core/model/job_spec.h"
#include "core/model/profile.h"

namespace sailor {

LayerTime analytic_layer_time(const ModelSpec& model, const TrainingSpec& training, const AcceleratorSpec& accelerator,
                              ProfilePoint point, int layer);

// Activations of a layer on one GPU, in numbers of the job's precision, with sequence parallelism: of what each GPU of
// a group has all of without it, the inputs of norms and of column-parallel linears, it keeps 1 / tensor_parallel
// (Korthikanti et al., MLSys 2023, section 4.2.2: all of a block is divided by the tensor-parallel size; their
// attention keeps its scores, and their dropout its masks, ours has neither). A group's inside is divided in either
// case.
LayerMemory analytic_layer_memory(const ModelSpec& model, const TrainingSpec& training, int tensor_parallel, int layer);

// Bytes of one number in the job's precision.
double element_size(Precision precision);

}  // namespace sailor
