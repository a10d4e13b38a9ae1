// StepDurations: how long the last steps of a generation took.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <numeric>
#include <vector>

namespace sailor::trainer {

class StepDurations {
 public:
  void add(double seconds) {
    last_.push_back(seconds);
    if (last_.size() > kSteps) last_.pop_front();
    forget_other_speed();
  }
  [[nodiscard]] bool empty() const { return last_.empty(); }

  [[nodiscard]] double mean() const {  // 0: no step is done
    if (last_.empty()) return 0;
    return std::reduce(last_.begin(), last_.end()) / static_cast<double>(last_.size());
  }

  // The time that a step usually takes. A downtime within one of the steps (a frozen process, a lost operator) does
  // not count. 0: no step is done.
  [[nodiscard]] double median() const { return last_.empty() ? 0 : median_of({last_.begin(), last_.end()}); }

 private:
  static constexpr std::size_t kSteps = 10;
  static constexpr std::ptrdiff_t kAgree = 3;
  static constexpr double kOtherSpeed = 1.2;

  // Forgets the steps before the last few, if these all took longer than usual, or all took shorter. Otherwise a GPU
  // that gets slow would show in the median only after half of the steps.
  void forget_other_speed() {
    if (std::ssize(last_) <= kAgree) return;
    const auto newest = last_.end() - kAgree;
    const double usual = median_of({last_.begin(), newest});
    const auto is_longer = [&](double seconds) { return seconds > kOtherSpeed * usual; };
    const auto is_shorter = [&](double seconds) { return seconds * kOtherSpeed < usual; };
    if (std::all_of(newest, last_.end(), is_longer) || std::all_of(newest, last_.end(), is_shorter)) {
      last_.erase(last_.begin(), newest);
    }
  }

  static double median_of(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
    std::ranges::nth_element(values, middle);
    return *middle;
  }

  std::deque<double> last_;
};

}  // namespace sailor::trainer
