#include "trainer/device/device.h"

#include <memory>

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <c10/core/Event.h>
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

std::function<bool()> completion_of_work_given_to(at::Device device) {
  if (device.is_cpu()) return nullptr;
  const auto event = std::make_shared<c10::Event>(device.type());
  event->record(c10::impl::VirtualGuardImpl(device.type()).getStream(device));
  return [event] { return event->query(); };
}

void wait_for_compute_device() {
  if (compute_device().is_cpu()) return;
  const c10::impl::VirtualGuardImpl gpus(compute_device().type());
  gpus.synchronizeStream(gpus.getStream(compute_device()));
}

void allow_tf32() { at::globalContext().setAllowTF32CuBLAS(true); }

void set_cpu_threads(int count) { at::set_num_threads(count); }

}  // namespace sailor::trainer
