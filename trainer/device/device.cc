#include "trainer/device/device.h"

#include <memory>

#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/core/CachingHostAllocator.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "trainer/device/allocation_failure.h"
#include "trainer/device/cuda_flags.h"

namespace sailor::trainer {
namespace {

at::Device& device() {
  static at::Device device(at::kCPU);
  return device;
}

std::shared_ptr<c10::Event> mark_of_given_work(at::Device gpu) {
  auto event = std::make_shared<c10::Event>(gpu.type());
  event->record(c10::impl::VirtualGuardImpl(gpu.type()).getStream(gpu));
  return event;
}

}  // namespace

at::Device compute_device() { return device(); }

bool has_cuda_support() { return c10::impl::hasDeviceGuardImpl(at::kCUDA); }

GpuSupport gpu_support() {
  GpuSupport support{
      .cuda_version = 0, .architectures = {}, .driver = nvidia_driver(), .models = nvidia_models(), .usable_gpus = 0};
  if (!has_cuda_support()) return support;
  const at::CUDAHooksInterface& cuda = at::detail::getCUDAHooks();
  support.cuda_version = static_cast<int>(cuda.versionCUDART());
  support.architectures = architectures_in(cuda_flags());
  const c10::DeviceIndex usable = c10::impl::VirtualGuardImpl(at::kCUDA).deviceCount();
  support.usable_gpus = static_cast<unsigned char>(usable);  // never negative
  return support;
}

bool use_gpu(int index) {
  if (!has_cuda_support()) return false;
  const c10::impl::VirtualGuardImpl gpus(at::kCUDA);
  if (index >= gpus.deviceCount()) return false;
  device() = at::Device(at::kCUDA, static_cast<c10::DeviceIndex>(index));
  gpus.setDevice(device());
  return true;
}

std::function<bool()> poller_of_given_work(at::Device device) {
  if (device.is_cpu()) return nullptr;
  return [given = mark_of_given_work(device)] { return given->query(); };
}

std::function<void()> waiter_for_given_work() {
  if (compute_device().is_cpu()) return nullptr;
  return [given = mark_of_given_work(compute_device())] { given->synchronize(); };
}

void wait_for_compute_device() {
  if (compute_device().is_cpu()) return;
  const c10::impl::VirtualGuardImpl gpus(compute_device().type());
  gpus.synchronizeStream(gpus.getStream(compute_device()));
}

// A GPU that is too old for the program's kernels is only noticed by the first of them.
Result<void> use_device(DeviceChoice choice, int gpu) {
  if (choice == DeviceChoice::kCpu || (choice == DeviceChoice::kAuto && !has_cuda_support())) return {};
  const GpuSupport support = gpu_support();
  if (auto usable = check_gpu(support, gpu); !usable) return usable;
  const auto failure = allocation_failure([&] {
    use_gpu(gpu);
    (void)at::ones({1}, at::device(compute_device())).add(1).item<float>();
  });
  if (!failure) return {};
  return fail(ErrorCode::kUnavailable,
              fmt::format("GPU {} of this pod cannot compute: {} (NVIDIA driver {}; this program has kernels for {})",
                          gpu, failure->substr(0, failure->find('\n')), support.driver.value_or("unknown"),
                          fmt::join(support.architectures, ", ")));
}

void release_cached_memory() {
  if (compute_device().is_cpu()) return;
  at::getDeviceAllocator(compute_device().type())->emptyCache();
  at::getHostAllocator(compute_device().type())->empty_cache();
}

void allow_tf32() { at::globalContext().setAllowTF32CuBLAS(true); }

void set_cpu_threads(int count) { at::set_num_threads(count); }

}  // namespace sailor::trainer
