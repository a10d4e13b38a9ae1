// PeriodicTask: calls a function again and again, on a thread of its own, for as long as it lives.
#pragma once

#include <chrono>
#include <functional>
#include <thread>

namespace sailor::trainer {

class PeriodicTask {
 public:
  // A call begins one period after the begin of the call before, or at once if that call took longer than a period.
  // Calls that were late are not made up for.
  PeriodicTask(std::chrono::milliseconds period, std::function<void()> task);

 private:
  std::jthread thread_;
};

}  // namespace sailor::trainer
