#include "trainer/device.h"

#include <ATen/Context.h>
#ifdef SAILOR_WITH_CUDA
#include <c10/cuda/CUDAFunctions.h>
#endif

namespace sailor::trainer {
namespace {

at::Device& device() {
  static at::Device device(at::kCPU);
  return device;
}

}  // namespace

at::Device compute_device() { return device(); }

#ifdef SAILOR_WITH_CUDA
bool use_gpu(int index) {
  if (index >= c10::cuda::device_count()) return false;
  c10::cuda::set_device(static_cast<c10::DeviceIndex>(index));
  device() = at::Device(at::kCUDA, static_cast<c10::DeviceIndex>(index));
  return true;
}
#else
bool use_gpu(int) { return false; }
#endif

void use_tf32() { at::globalContext().setAllowTF32CuBLAS(true); }

}  // namespace sailor::trainer
