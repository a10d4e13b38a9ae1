#include "trainer/device/host_copies.h"

#include <ATen/ATen.h>
#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include "trainer/device/device.h"

namespace sailor::trainer {
namespace {

// LibTorch keeps pinned memory that is freed, and gives it out again when the copies from and to it have ended.
at::Tensor pinned_memory_for(const at::Tensor& tensor) {
  return at::empty(tensor.sizes(), tensor.options().device(at::kCPU).pinned_memory(true));
}

// Two streams beside the one that computes, because a GPU copies in both directions at once.
class StreamCopies : public HostCopies {
 public:
  explicit StreamCopies(at::Device device)
      : device_(device),
        gpus_(device.type()),
        to_host_(gpus_.getStreamFromGlobalPool(device)),
        to_device_(gpus_.getStreamFromGlobalPool(device)) {}

  [[nodiscard]] bool is_on_device(const at::Tensor& tensor) const override { return !tensor.is_cpu(); }
  at::Tensor host_memory_for(const at::Tensor& tensor) override { return pinned_memory_for(tensor); }

  std::function<void()> start_to_host(const at::Tensor& tensor, const at::Tensor& host) override {
    work_given()->block(to_host_);
    {
      const c10::StreamGuard on(to_host_);
      host.copy_(tensor, /*non_blocking=*/true);
    }
    tensor.record_stream(to_host_);  // its memory is not used again before the copy has ended
    return [copied = recorded(to_host_)] { copied->synchronize(); };
  }

  std::function<void()> prepare_to_device(const at::Tensor& host, const at::Tensor& tensor) override {
    return [this, host, tensor, given = work_given()] {
      given->block(to_device_);
      {
        const c10::StreamGuard on(to_device_);
        tensor.copy_(host, /*non_blocking=*/true);
      }
      recorded(to_device_)->block(computing());
    };
  }

 private:
  [[nodiscard]] c10::Stream computing() const { return gpus_.getStream(device_); }
  [[nodiscard]] std::shared_ptr<c10::Event> work_given() const { return recorded(computing()); }
  [[nodiscard]] std::shared_ptr<c10::Event> recorded(const c10::Stream& stream) const {
    auto event = std::make_shared<c10::Event>(device_.type());
    event->record(stream);
    return event;
  }

  at::Device device_;
  c10::impl::VirtualGuardImpl gpus_;
  c10::Stream to_host_;
  c10::Stream to_device_;
};

}  // namespace

std::unique_ptr<HostCopies> host_copies_of_compute_device() { return std::make_unique<StreamCopies>(compute_device()); }

at::Tensor on_compute_device(const at::Tensor& host) {
  if (compute_device().is_cpu()) return host.clone();
  const at::Tensor pinned = pinned_memory_for(host);
  pinned.copy_(host);
  return pinned.to(compute_device(), /*non_blocking=*/true);
}

}  // namespace sailor::trainer
