// The device that this process computes on (the CPU or one GPU), and its number of CPU threads. Both are set once, when
// the process starts.
#pragma once

#include <c10/core/Device.h>

namespace sailor::trainer {

// Returns the CPU, unless use_gpu() has found a GPU.
at::Device compute_device();

// True if this program is linked with the CUDA half of LibTorch (cuda.cmake).
bool has_cuda_support();

// From now on, this process computes on the GPU with this index among those of the pod. Returns false if the program
// has no CUDA support or the machine has no such GPU.
bool use_gpu(int index);

// Lets GPUs that have TF32 use it for matrix products of FP32 tensors
// (docs/decisions/0010-fp32-multiplies-in-tf32-on-gpus.md).
void allow_tf32();

// Sets the number of CPU threads that LibTorch computes with.
void set_cpu_threads(int count);

}  // namespace sailor::trainer
