// Watchdog: tells whether the reconciles are stuck. One that waits for a slow API server is not: each answer counts as
// progress, for all threads, because a reconcile may wait for the records of another one.
#pragma once

#include <atomic>
#include <chrono>

namespace sailor {

// Any thread may call the functions.
class Watchdog {
 public:
  using Instant = std::chrono::steady_clock::time_point;
  explicit Watchdog(std::chrono::seconds limit) : limit_(limit) {}

  void begin(Instant now) {
    ++running_;
    newest_ = seconds_of(now);
  }
  void end() { --running_; }
  // A request of a reconcile has ended, with or without an answer.
  void progress(Instant now) { newest_ = seconds_of(now); }
  [[nodiscard]] bool is_stuck(Instant now) const { return running_ > 0 && seconds_of(now) - newest_ >= limit_.count(); }

 private:
  static long seconds_of(Instant now) {
    return std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count();
  }

  std::chrono::seconds limit_;
  std::atomic<int> running_{0};  // reconciles
  std::atomic<long> newest_{0};  // when one began or made progress
};

}  // namespace sailor
