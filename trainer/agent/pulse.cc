#include "trainer/agent/pulse.h"

#include <condition_variable>
#include <mutex>

namespace sailor::trainer {

Pulse::Pulse(std::chrono::milliseconds period, std::function<void()> beat)
    : thread_([period, beat = std::move(beat)](const std::stop_token& stop) {
        std::mutex mutex;
        std::condition_variable_any stopped;
        std::unique_lock lock(mutex);
        while (!stop.stop_requested()) {
          const auto next = std::chrono::steady_clock::now() + period;
          beat();
          stopped.wait_until(lock, stop, next, [] { return false; });
        }
      }) {}

}  // namespace sailor::trainer
