// StreamPace: the share of the time in which the state streams of a worker may copy and send shards. It follows from
// how much the steps slow down meanwhile. The gradients of steps are always sent at once.
#pragma once

#include <algorithm>
#include <atomic>
#include <limits>

#include "trainer/elastic/state/live_state.h"

namespace sailor::trainer {

inline constexpr double kNoTimeToLose = std::numeric_limits<double>::infinity();  // the slowdown of an urgent change

// Steps are slow for other reasons too: a worker starts on the same machine, or a neighbour uses the network. So no
// shards are sent during the step after a slow one. If that step is as slow, streaming is not the reason.
class StreamPace {
 public:
  // Steps should take at most 1 + `slowdown` times as long as without streaming.
  explicit StreamPace(double slowdown) : slowdown_(slowdown), share_(slowdown == kNoTimeToLose ? 1 : kFirstShare) {}

  // The training thread calls it after each step. Short steps count together.
  void note_step(const AppliedStep& step) {
    if (slowdown_ == kNoTimeToLose) return;
    if (usual_seconds_ == 0) usual_seconds_ = step.usual_seconds;
    ++steps_;
    seconds_ += step.seconds;
    if (seconds_ < kWindowSeconds) return;
    note_mean(seconds_ / steps_);
    steps_ = 0;
    seconds_ = 0;
  }

  // Any thread may call the next two functions.
  [[nodiscard]] bool is_paused() const { return is_paused_; }
  [[nodiscard]] double share() const { return share_; }  // more than 0, at most 1; while it is not paused

 private:
  static constexpr double kFirstShare = 1.0 / 4;
  static constexpr double kLeastShare = 1.0 / 32;  // so that a stream ends in any case
  static constexpr double kGrowth = 1.5;
  static constexpr double kWindowSeconds = 0.5;  // durations of shorter steps vary too much

  void note_mean(double step_seconds) {
    if (is_paused_) {
      if (slow_step_seconds_ > (1 + slowdown_) * step_seconds) share_ = std::max(kLeastShare, share_ / 2);
      usual_seconds_ = step_seconds;
      is_paused_ = false;
    } else if (step_seconds > (1 + slowdown_) * usual_seconds_) {
      slow_step_seconds_ = step_seconds;
      is_paused_ = true;
    } else {
      if (step_seconds < (1 + slowdown_ / 2) * usual_seconds_) share_ = std::min(1.0, share_ * kGrowth);
      usual_seconds_ = std::min(usual_seconds_, step_seconds);  // streaming makes no step faster
    }
  }

  const double slowdown_;
  int steps_ = 0;  // steps of the current window, and their total time
  double seconds_ = 0;
  double usual_seconds_ = 0;      // of a step without streaming; 0: unknown
  double slow_step_seconds_ = 0;  // of the steps before the pause
  std::atomic<bool> is_paused_ = false;
  std::atomic<double> share_;
};

}  // namespace sailor::trainer
