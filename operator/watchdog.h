// Watchdog: tells whether a reconcile is stuck. One that waits for a slow API server is not: each answer counts as
// progress.
#pragma once

#include <atomic>
#include <chrono>

namespace sailor {

// Any thread may call the functions.
class Watchdog {
 public:
  using Instant = std::chrono::steady_clock::time_point;
  explicit Watchdog(std::chrono::seconds limit) : limit_(limit) {}

  void begin(Instant now) { newest_ = seconds_of(now); }
  void end() { newest_ = kIdle; }
  // A request of the reconcile has ended, with or without an answer. Ignored if no reconcile runs.
  void progress(Instant now) {
    long newest = newest_;
    while (newest != kIdle && !newest_.compare_exchange_weak(newest, seconds_of(now))) {
    }
  }
  [[nodiscard]] bool is_stuck(Instant now) const {
    const long newest = newest_;
    return newest != kIdle && seconds_of(now) - newest >= limit_.count();
  }

 private:
  static constexpr long kIdle = -1;
  static long seconds_of(Instant now) {
    return std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count();
  }

  std::chrono::seconds limit_;
  std::atomic<long> newest_{kIdle};  // when the reconcile began or last made progress
};

}  // namespace sailor
