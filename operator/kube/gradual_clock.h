// GradualClock: a Clock that follows the machine's clock. When somebody sets the machine's clock by up to a day, it
// does not step, but runs at half or at twice the speed until both agree. So a wait that the operator measures with it
// lasts at most twice as long as it should, and at least half as long.
#pragma once

#include <mutex>

#include "operator/kube/time.h"

namespace sailor {

class GradualClock {
 public:
  // A machine that was suspended has the right time, but a clock that stood still meanwhile would seem to be behind.
  explicit GradualClock(Clock wall = system_time, MonotonicClock monotonic = time_since_boot);

  // Any thread may call it. A difference of more than a day is not followed gradually: a clock that was so wrong, as
  // that of a machine without a battery, is of no use, so this one takes the new time at once.
  Time now();

 private:
  using FineTime = std::chrono::sys_time<std::chrono::microseconds>;

  const Clock wall_;
  const MonotonicClock monotonic_;
  std::mutex mutex_;
  MonotonicTime read_at_;  // when `time_` was read
  FineTime time_;          // finer than Time, so that half a millisecond is not lost
};

}  // namespace sailor
