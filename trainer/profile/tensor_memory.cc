#include "trainer/profile/tensor_memory.h"

#include <algorithm>

#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>

namespace sailor::trainer {

// LibTorch's own profiler hears of allocations this way; its allocator only keeps their sizes while somebody listens.
struct TensorMemory::Counter : c10::MemoryReportingInfoBase {
  void reportMemoryUsage(void* /*place*/, std::int64_t size, std::size_t /*allocated*/, std::size_t /*reserved*/,
                         c10::Device device) override {
    if (!device.is_cpu()) return;
    held += size;
    peak = std::max(peak, held);
  }
  [[nodiscard]] bool memoryProfilingEnabled() const override { return true; }

  std::int64_t held = 0;
  std::int64_t peak = 0;
};

struct TensorMemory::Guard {
  c10::DebugInfoGuard guard;
};

TensorMemory::TensorMemory()
    : counter_(std::make_shared<Counter>()), guard_(new Guard{{c10::DebugInfoKind::PROFILER_STATE, counter_}}) {}

TensorMemory::~TensorMemory() = default;

std::int64_t TensorMemory::held() const { return counter_->held; }

std::int64_t TensorMemory::peak() const { return counter_->peak; }

void TensorMemory::forget_peak() { counter_->peak = counter_->held; }

}  // namespace sailor::trainer
