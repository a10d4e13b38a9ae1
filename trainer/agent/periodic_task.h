// PeriodicTask: calls a function periodically on its own thread until the object is destroyed.
#pragma once

#include <chrono>
#include <functional>
#include <thread>

namespace sailor::trainer {

class PeriodicTask {
 public:
  // The first call starts at once. A call starts one period after the previous call started, or at once if the previous
  // call took longer than a period. Missed calls are not repeated. The destructor waits for a call that has begun.
  PeriodicTask(std::chrono::milliseconds period, std::function<void()> task);

 private:
  std::jthread thread_;
};

}  // namespace sailor::trainer
