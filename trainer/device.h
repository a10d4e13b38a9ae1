// Where this process computes. Like the number of its threads, it is set once, when the process begins.
#pragma once

#include <c10/core/Device.h>

namespace sailor::trainer {

// The CPU, unless use_gpu() has found a GPU.
at::Device compute_device();

// From now on on this GPU of those that the pod has. False: this build has no CUDA, or the machine no such GPU.
bool use_gpu(int index);

// Matrix products of FP32 in TF32, on GPUs that have it (decision 10).
void use_tf32();

}  // namespace sailor::trainer
