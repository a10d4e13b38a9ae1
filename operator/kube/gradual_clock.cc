#include "operator/kube/gradual_clock.h"

#include <algorithm>
#include <utility>

namespace sailor {
namespace {

constexpr std::chrono::hours kMostFollowed{24};

}  // namespace

GradualClock::GradualClock(Clock wall, MonotonicClock monotonic)
    : wall_(std::move(wall)), monotonic_(std::move(monotonic)), read_at_(monotonic_()), time_(wall_()) {}

Time GradualClock::now() {
  const std::scoped_lock lock(mutex_);
  const MonotonicTime read_at = monotonic_();
  const std::chrono::microseconds passed = read_at - std::exchange(read_at_, read_at);
  const FineTime wall = wall_();
  const bool is_close = std::chrono::abs(wall - (time_ + passed)) <= kMostFollowed;
  time_ = is_close ? std::clamp(wall, time_ + passed / 2, time_ + 2 * passed) : wall;
  return std::chrono::floor<std::chrono::milliseconds>(time_);
}

}  // namespace sailor
