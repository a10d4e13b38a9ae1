// Watchdog: tells whether a reconcile is stuck. One that waits for a slow API server is not: each answer counts as
// progress of the thread that asked. One that waits for the reconcile of another job, which claims GPUs, does not count
// as working: only that other one can be stuck.
#pragma once

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <thread>

namespace sailor {

// The functions are about the thread that calls them. Any thread may call them.
class Watchdog {
 public:
  using Instant = std::chrono::steady_clock::time_point;
  explicit Watchdog(std::chrono::seconds limit) : limit_(limit) {}

  // The thread begins a reconcile, or goes on with it.
  void begin(Instant now) {
    const std::scoped_lock lock(mutex_);
    newest_[std::this_thread::get_id()] = now;
  }
  // Its reconcile has ended, or waits for that of another thread.
  void end() {
    const std::scoped_lock lock(mutex_);
    newest_.erase(std::this_thread::get_id());
  }
  // A request of the thread has ended, with or without an answer. Those of threads that do not reconcile do not count.
  void progress(Instant now) {
    const std::scoped_lock lock(mutex_);
    const auto found = newest_.find(std::this_thread::get_id());
    if (found != newest_.end()) found->second = now;
  }
  // Returns whether any thread has worked for the limit without progress.
  [[nodiscard]] bool is_stuck(Instant now) const {
    const std::scoped_lock lock(mutex_);
    return std::ranges::any_of(newest_, [&](const auto& thread) { return now - thread.second >= limit_; });
  }

 private:
  const std::chrono::seconds limit_;
  mutable std::mutex mutex_;
  std::map<std::thread::id, Instant> newest_;  // progress of each thread that works
};

}  // namespace sailor
