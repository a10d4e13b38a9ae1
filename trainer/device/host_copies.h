// HostCopies: copies between the memory of the compute device and host memory, beside the work of the device. No call
// but a wait makes the host wait for the device.
#pragma once

#include <functional>
#include <memory>

#include <ATen/core/Tensor.h>

namespace sailor::trainer {

// The interface exists because only a GPU has memory of its own: tests have an implementation that needs none.
class HostCopies {
 public:
  HostCopies() = default;
  HostCopies(const HostCopies&) = delete;
  HostCopies& operator=(const HostCopies&) = delete;
  virtual ~HostCopies() = default;

  // False: the tensor is in host memory, and needs no copy.
  [[nodiscard]] virtual bool is_on_device(const at::Tensor& tensor) const = 0;

  // Returns memory for a copy of the tensor, whose elements are undefined. Memory that is not used any more serves
  // again for later copies.
  [[nodiscard]] virtual at::Tensor host_memory_for(const at::Tensor& tensor) = 0;

  // Starts to copy the tensor to `host`, as it is after all work that this thread has given the device so far. Later
  // work may overwrite or free it. Returns a function that waits for the copy; any thread may call it, once.
  [[nodiscard]] virtual std::function<void()> start_to_host(const at::Tensor& tensor, const at::Tensor& host) = 0;

  // Returns a function that starts to copy `host` to the tensor. The copy waits only for the work that this thread has
  // given the device before this call, and later work waits for the copy. This thread calls the function, once.
  [[nodiscard]] virtual std::function<void()> prepare_to_device(const at::Tensor& host, const at::Tensor& tensor) = 0;
};

// Returns the copies of the compute device, which is a GPU. Each thread that copies has its own.
std::unique_ptr<HostCopies> host_copies_of_compute_device();

// Returns a copy of a tensor in host memory on the compute device. On a GPU the host does not wait for the copy.
at::Tensor on_compute_device(const at::Tensor& host);

}  // namespace sailor::trainer
