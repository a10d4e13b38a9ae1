#include "trainer/device/device.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <c10/core/impl/VirtualGuardImpl.h>

namespace sailor::trainer {
namespace {

at::Device& device() {
  static at::Device device(at::kCPU);
  return device;
}

}  // namespace

at::Device compute_device() { return device(); }

bool has_cuda_support() { return c10::impl::hasDeviceGuardImpl(at::kCUDA); }

bool use_gpu(int index) {
  if (!has_cuda_support()) return false;
  const c10::impl::VirtualGuardImpl gpus(at::kCUDA);
  if (index >= gpus.deviceCount()) return false;
  device() = at::Device(at::kCUDA, static_cast<c10::DeviceIndex>(index));
  gpus.setDevice(device());
  return true;
}

void allow_tf32() { at::globalContext().setAllowTF32CuBLAS(true); }

void set_cpu_threads(int count) { at::set_num_threads(count); }

}  // namespace sailor::trainer
