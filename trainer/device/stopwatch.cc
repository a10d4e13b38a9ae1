#include "trainer/device/stopwatch.h"

#include <array>
#include <cstdlib>

#include <c10/core/impl/VirtualGuardImpl.h>
#include <fcntl.h>
#include <unistd.h>

namespace sailor::trainer {
namespace {

// How long this thread has waited for a processor since it began, although it could run.
class WaitForProcessor {
 public:
  WaitForProcessor() : file_(::open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC)) {}
  ~WaitForProcessor() { ::close(file_); }
  WaitForProcessor(const WaitForProcessor&) = delete;
  WaitForProcessor& operator=(const WaitForProcessor&) = delete;

  // The second number of the file; zero where there is no such file.
  [[nodiscard]] std::chrono::nanoseconds now() const {
    std::array<char, 64> text{};
    if (::pread(file_, text.data(), text.size() - 1, 0) <= 0) return {};
    char* after_first = nullptr;
    (void)std::strtoll(text.data(), &after_first, 10);
    return std::chrono::nanoseconds(std::strtoll(after_first, nullptr, 10));
  }

 private:
  int file_;
};

// A clock that stands still while the calling thread waits for a processor. It is read again if the thread had to wait
// between the two readings of which it consists, and a thread often loses its processor at a system call.
std::chrono::nanoseconds run_time() {
  thread_local const WaitForProcessor wait;
  for (auto before = wait.now();;) {
    const auto time = std::chrono::steady_clock::now().time_since_epoch();
    const auto after = wait.now();
    if (before == after) return time - before;
    before = after;
  }
}

}  // namespace

void Stopwatch::start() {
  runs_ = true;
  if (device_.is_cpu()) {
    started_ = run_time();
  } else {
    started_event_.emplace(mark());
  }
}

void Stopwatch::stop() {
  runs_ = false;
  if (device_.is_cpu()) {
    seconds_ += std::chrono::duration<double>(run_time() - started_).count();
  } else {
    intervals_.emplace_back(std::exchange(started_event_, std::nullopt).value(), mark());
  }
}

double Stopwatch::take() {
  for (const auto& [begin, end] : std::exchange(intervals_, {})) seconds_ += begin.elapsedTime(end) / 1000;
  return std::exchange(seconds_, 0);
}

c10::Event Stopwatch::mark() const {
  c10::Event event(device_.type(), c10::EventFlag::BACKEND_DEFAULT);  // the only kind with a time
  event.record(c10::impl::VirtualGuardImpl(device_.type()).getStream(device_));
  return event;
}

}  // namespace sailor::trainer
