// Stopwatch: adds up how long the compute device works between start() and stop(), which one thread calls.
//
// On a GPU it records events, because a call returns before the device has done its work. On a CPU it leaves out the
// time in which the thread could run but another one had its processor: workers that share processors would otherwise
// look slow in turns. Where the kernel does not tell this time (CONFIG_SCHED_INFO of Linux), it counts.
#pragma once

#include <chrono>
#include <exception>
#include <optional>
#include <utility>
#include <vector>

#include <c10/core/Device.h>
#include <c10/core/Event.h>

namespace sailor::trainer {

class Stopwatch {
 public:
  explicit Stopwatch(at::Device device) : device_(device) {}

  void start();
  void stop();
  [[nodiscard]] bool runs() const { return runs_; }

  // Returns the sum since the last call, in seconds. On a GPU the device must have done its work.
  [[nodiscard]] double take();

 private:
  [[nodiscard]] c10::Event mark() const;

  at::Device device_;
  bool runs_ = false;
  double seconds_ = 0;
  std::chrono::nanoseconds started_{};  // on a CPU, as run_time() in the source file counts
  std::optional<c10::Event> started_event_;
  std::vector<std::pair<c10::Event, c10::Event>> intervals_;  // on a GPU
};

// Lets the watch run while this object exists. After an exception it leaves the watch alone, because a GPU that failed
// fails at each further call.
class RunningStopwatch {
 public:
  explicit RunningStopwatch(Stopwatch& watch) : watch_(watch) { watch_.start(); }
  ~RunningStopwatch() noexcept(false) {
    if (std::uncaught_exceptions() == exceptions_) watch_.stop();
  }
  RunningStopwatch(const RunningStopwatch&) = delete;
  RunningStopwatch& operator=(const RunningStopwatch&) = delete;

 private:
  Stopwatch& watch_;
  int exceptions_ = std::uncaught_exceptions();
};

// Stops the watch, if it runs, while this object exists. After an exception the watch stays stopped.
class PausedStopwatch {
 public:
  explicit PausedStopwatch(Stopwatch& watch) : watch_(watch.runs() ? &watch : nullptr) {
    if (watch_ != nullptr) watch_->stop();
  }
  ~PausedStopwatch() noexcept(false) {
    if (watch_ != nullptr && std::uncaught_exceptions() == exceptions_) watch_->start();
  }
  PausedStopwatch(const PausedStopwatch&) = delete;
  PausedStopwatch& operator=(const PausedStopwatch&) = delete;

 private:
  Stopwatch* watch_;
  int exceptions_ = std::uncaught_exceptions();
};

}  // namespace sailor::trainer
