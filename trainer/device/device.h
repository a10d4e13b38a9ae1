// The device that this process computes on (the CPU or one GPU), and its number of CPU threads. Both are set once, when
// the process starts.
#pragma once

#include <functional>

#include <c10/core/Device.h>

#include "trainer/device/gpu_support.h"

namespace sailor::trainer {

// Returns the CPU, unless use_gpu() has found a GPU.
at::Device compute_device();

// True if this program is linked with the CUDA half of LibTorch (cuda.cmake).
bool has_cuda_support();

// Returns what this program and this machine have for computing on GPUs.
GpuSupport gpu_support();

// From now on, this process computes on the GPU with this index among those of the pod. Returns false if the program
// has no CUDA support or the machine has no such GPU.
bool use_gpu(int index);

// The device that the workers of a pod are to compute on.
enum class DeviceChoice {
  kAuto,  // the GPU if the program has CUDA support, else the CPU
  kCpu,
  kGpu,
};

// Makes this process compute on the chosen device; `gpu` is the index of its GPU. Returns an error if that has to be a
// GPU and it cannot compute: training on the CPU instead would cost days at the price of a GPU.
Result<void> use_device(DeviceChoice choice, int gpu);

// The next two functions concern all work that this thread has given a device before the call. They return null for the
// CPU, which works at once. Any thread may call the function that they return.
//
// Returns a function that says whether the device has done this work. It throws if the device has failed.
std::function<bool()> poller_of_given_work(at::Device device);
// Returns a function that waits until the compute device has done this work. It may be called once.
std::function<void()> waiter_for_given_work();

// Waits until the compute device has done all work that this thread has given it.
void wait_for_compute_device();

// Returns the memory that LibTorch keeps for later tensors of the compute device and for copies to and from it, so that
// others can allocate it, NCCL among them.
void release_cached_memory();

// Lets GPUs that have TF32 use it for matrix products of FP32 tensors
// (docs/decisions/0010-fp32-multiplies-in-tf32-on-gpus.md).
void allow_tf32();

// Sets the number of CPU threads that LibTorch computes with.
void set_cpu_threads(int count);

}  // namespace sailor::trainer
