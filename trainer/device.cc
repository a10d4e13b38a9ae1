#include "trainer/device.h"

#include <ATen/Context.h>
#include <c10/core/impl/VirtualGuardImpl.h>

namespace sailor::trainer {
namespace {

at::Device& device() {
  static at::Device device(at::kCPU);
  return device;
}

}  // namespace

at::Device compute_device() { return device(); }

bool knows_gpus() { return c10::impl::hasDeviceGuardImpl(at::kCUDA); }

bool use_gpu(int index) {
  if (!knows_gpus()) return false;
  const c10::impl::VirtualGuardImpl gpus(at::kCUDA);
  if (index >= gpus.deviceCount()) return false;
  device() = at::Device(at::kCUDA, static_cast<c10::DeviceIndex>(index));
  gpus.setDevice(device());
  return true;
}

void use_tf32() { at::globalContext().setAllowTF32CuBLAS(true); }

}  // namespace sailor::trainer
