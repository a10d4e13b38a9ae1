// Analytic profile: time and memory of a layer from the model's shape and the accelerator's data sheet, so that any
// model can be planned on any known GPU without having run there. simulator/README.md lists the formulas.
#pragma once

#include "core/model/accelerator.h"
#include "core/model/execution_model.h"
#include "core/model/job_spec.h"
#include "core/model/profile.h"

namespace sailor {

LayerTime analytic_layer_time(const ModelSpec& model, const TrainingSpec& training, const AcceleratorSpec& accelerator,
                              ProfilePoint point, int layer);

// Parameters and activations of a layer on one GPU, in the job's precision. Tensor parallelism always divides what is
// between the linear layers of a group. The inputs of norms and of column-parallel linear layers are whole on every GPU
// of the group, but with sequence parallelism each GPU keeps only 1 / tensor_parallel of them (Korthikanti et al.,
// MLSys 2023, section 4.2.2: everything in a block is divided by the tensor-parallel size; their attention keeps its
// scores and their dropout its masks, ours has neither).
LayerMemory analytic_layer_memory(const ModelSpec& model, const TrainingSpec& training, int tensor_parallel, int layer,
                                  LogitsInMemory logits);

// What the passes of one microbatch through a layer need on one GPU beside what the forward pass keeps, at their worst
// moment: the gradients of activations, and of weights before they are added to those of other microbatches.
Bytes analytic_workspace(const ModelSpec& model, const TrainingSpec& training, ProfilePoint point, int layer,
                         LogitsInMemory logits);

// Bytes of one number in the job's precision.
double element_size(Precision precision);

}  // namespace sailor
