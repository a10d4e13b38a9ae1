#include "trainer/agent/periodic_task.h"

#include <condition_variable>
#include <mutex>

namespace sailor::trainer {

PeriodicTask::PeriodicTask(std::chrono::milliseconds period, std::function<void()> task)
    : thread_([period, task = std::move(task)](const std::stop_token& stop) {
        std::mutex mutex;
        std::condition_variable_any stopped;
        std::unique_lock lock(mutex);
        while (!stop.stop_requested()) {
          const auto next = std::chrono::steady_clock::now() + period;
          task();
          stopped.wait_until(lock, stop, next, [] { return false; });
        }
      }) {}

}  // namespace sailor::trainer
