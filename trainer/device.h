// Where this process computes. Like the number of its threads, it is set once, when the process begins.
#pragma once

#include <c10/core/Device.h>

namespace sailor::trainer {

// The CPU, unless use_gpu() has found a GPU.
at::Device compute_device();

// This program is linked with LibTorch's half for GPUs (cuda.cmake).
bool knows_gpus();

// From now on on this GPU of those that the pod has. False: the program knows none, or the machine has no such GPU.
bool use_gpu(int index);

// Matrix products of FP32 in TF32, on GPUs that have it (decision 10).
void use_tf32();

}  // namespace sailor::trainer
