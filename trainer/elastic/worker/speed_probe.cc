#include "trainer/elastic/worker/speed_probe.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <stop_token>
#include <utility>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include "trainer/device/device.h"
#include "trainer/device/stopwatch.h"

namespace sailor::trainer {
namespace {

constexpr auto kPeriod = std::chrono::seconds(1);

// Products of square matrices that together take some tens of milliseconds. The first ones are not measured, because a
// device that has rested may be faster or slower for a while.
struct FixedWork {
  std::int64_t size = 0;
  int unmeasured_products = 0;
  int products = 0;
};
constexpr FixedWork kForCpu{.size = 256, .unmeasured_products = 12, .products = 96};
constexpr FixedWork kForGpu{.size = 4096, .unmeasured_products = 1, .products = 8};

// Returns nothing if it was told to stop.
std::optional<double> measure(const FixedWork& work, const std::stop_token& stop) {
  const at::Tensor matrix = at::ones({work.size, work.size}, at::device(compute_device()).dtype(at::kFloat));
  at::Tensor product = at::empty_like(matrix);
  const auto multiply = [&](int products) {
    for (int i = 0; i < products && !stop.stop_requested(); ++i) at::mm_out(product, matrix, matrix);
  };
  multiply(work.unmeasured_products);
  Stopwatch watch(compute_device());
  {
    const RunningStopwatch running(watch);
    multiply(work.products);
  }
  wait_for_compute_device();
  if (stop.stop_requested()) return std::nullopt;
  return watch.take();
}

void wait_until(std::chrono::steady_clock::time_point time, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any nobody;
  std::unique_lock lock(mutex);
  nobody.wait_until(lock, stop, time, [] { return false; });
}

}  // namespace

SpeedProbe::SpeedProbe(std::function<void(double seconds)> report)
    : thread_([report = std::move(report), threads = at::get_num_threads()](const std::stop_token& stop) {
        set_cpu_threads(threads);  // LibTorch keeps their number by thread
        while (!stop.stop_requested()) {
          const auto next = std::chrono::steady_clock::now() + kPeriod;
          if (const auto seconds = measure(compute_device().is_cpu() ? kForCpu : kForGpu, stop)) report(*seconds);
          wait_until(next, stop);
        }
      }) {}

}  // namespace sailor::trainer
