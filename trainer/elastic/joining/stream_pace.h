// StreamPace: the share of the time in which the state streams of a worker may copy and send shards. It follows from
// how much the steps slow down meanwhile. The gradients of steps are always sent at once.
#pragma once

#include <algorithm>
#include <atomic>
#include <limits>

#include "trainer/elastic/state/live_state.h"

namespace sailor::trainer {

// Steps should take at most this part longer while state is streamed.
inline constexpr double kStreamingSlowdown = 0.1;
inline constexpr double kNoTimeToLose = std::numeric_limits<double>::infinity();  // the same for an urgent change

class StreamPace {
 public:
  // Steps should take at most 1 + `slowdown` times as long as before.
  explicit StreamPace(double slowdown) : slowdown_(slowdown), share_(slowdown == kNoTimeToLose ? 1 : kFirstShare) {}

  // The training thread calls it after each step.
  void note_step(const AppliedStep& step) {
    if (usual_seconds_ == 0) usual_seconds_ = step.usual_seconds;
    if (usual_seconds_ == 0) return;
    const double slowdown = step.seconds / usual_seconds_ - 1;
    if (slowdown > slowdown_) share_ = std::max(kLeastShare, share_ / 2);
    if (slowdown < slowdown_ / 2) share_ = std::min(1.0, share_ * kGrowth);
  }

  // Any thread may call it. More than 0, at most 1.
  [[nodiscard]] double share() const { return share_; }

 private:
  static constexpr double kFirstShare = 1.0 / 4;
  static constexpr double kLeastShare = 1.0 / 32;  // so that a stream ends although other causes slow the steps down
  static constexpr double kGrowth = 1.5;

  const double slowdown_;
  double usual_seconds_ = 0;  // mean of the steps before streaming began; 0: unknown
  std::atomic<double> share_;
};

}  // namespace sailor::trainer
