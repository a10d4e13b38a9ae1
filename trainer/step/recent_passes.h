// RecentPasses: how long the passes of a microbatch take one worker, as the mean over the steps of the last second. Its
// waiting does not count, so the times of the workers of a stage tell which of them is slow.
#pragma once

#include <deque>
#include <optional>
#include <utility>

namespace sailor::trainer {

class RecentPasses {
 public:
  struct Step {
    double seconds = 0;  // the length of the step
    double own = 0;      // the time of the worker's own passes in it, in seconds
    int microbatches = 0;
  };

  // The first step is left out, because it warms up.
  void note(const Step& step) {
    if (!std::exchange(is_warm_, true) || step.microbatches == 0) return;
    steps_.push_back(step);
    total_ = {total_.seconds + step.seconds, total_.own + step.own, total_.microbatches + step.microbatches};
    while (steps_.size() > 1 && total_.seconds - steps_.front().seconds >= kWindow) {
      const Step& oldest = steps_.front();
      total_ = {total_.seconds - oldest.seconds, total_.own - oldest.own, total_.microbatches - oldest.microbatches};
      steps_.pop_front();
    }
  }

  // Nothing before the second step.
  [[nodiscard]] std::optional<double> microbatch_seconds() const {
    if (steps_.empty()) return std::nullopt;
    return total_.own / total_.microbatches;
  }

 private:
  static constexpr double kWindow = 1;  // seconds

  bool is_warm_ = false;
  std::deque<Step> steps_;
  Step total_;  // over `steps_`
};

}  // namespace sailor::trainer
