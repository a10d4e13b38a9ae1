// HostBuffers: memory for messages, used again for later messages of the same size. To get the memory from the system
// anew takes several times as long as to fill it, because each page arrives with a page fault. A GPU copies to it
// without making the host wait, because it is pinned.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>

#include <ATen/ATen.h>

#include "trainer/device/device.h"

namespace sailor::trainer {

// Any thread may call the functions. The memory stays until the object is destroyed.
class HostBuffers {
 public:
  // Returns a flat FP32 tensor in host memory, whose elements are undefined.
  at::Tensor take(std::int64_t elements) {
    const std::lock_guard lock(mutex_);
    if (auto unused = unused_.extract(elements)) return std::move(unused.mapped());
    return at::empty({elements}, at::dtype(at::kFloat).pinned_memory(!compute_device().is_cpu()));
  }

  // Call it for a tensor of take() that nobody uses any more.
  void give_back(at::Tensor buffer) {
    const std::lock_guard lock(mutex_);
    const std::int64_t elements = buffer.numel();
    unused_.emplace(elements, std::move(buffer));
  }

 private:
  std::mutex mutex_;
  std::multimap<std::int64_t, at::Tensor> unused_;  // by number of elements
};

}  // namespace sailor::trainer
