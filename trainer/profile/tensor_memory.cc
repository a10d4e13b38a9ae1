#include "trainer/profile/tensor_memory.h"

#include <algorithm>

#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>

#include "trainer/device/device.h"

namespace sailor::trainer {

// LibTorch's allocator reports each allocation to such a listener; LibTorch's own profiler uses the same way. The
// allocator records sizes only while a listener is registered.
struct TensorMemory::Counter : c10::MemoryReportingInfoBase {
  void reportMemoryUsage(void* /*address*/, std::int64_t size, std::size_t /*total_allocated*/,
                         std::size_t /*total_reserved*/, c10::Device device) override {
    if (device.type() != compute_device().type()) return;
    allocated += size;
    peak = std::max(peak, allocated);
  }
  [[nodiscard]] bool memoryProfilingEnabled() const override { return true; }

  std::int64_t allocated = 0;
  std::int64_t peak = 0;
};

struct TensorMemory::Guard {
  c10::DebugInfoGuard guard;
};

TensorMemory::TensorMemory()
    : counter_(std::make_shared<Counter>()), guard_(new Guard{{c10::DebugInfoKind::PROFILER_STATE, counter_}}) {}

TensorMemory::~TensorMemory() = default;

std::int64_t TensorMemory::allocated() const { return counter_->allocated; }

std::int64_t TensorMemory::peak() const { return counter_->peak; }

}  // namespace sailor::trainer
