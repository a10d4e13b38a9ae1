#include "cli/terminal_progress.h"

#include <chrono>
#include <csignal>
#include <iostream>
#include <string_view>

#include <fmt/format.h>
#include <unistd.h>

namespace sailor::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr timespec kTick{.tv_sec = 0, .tv_nsec = 250'000'000};
constexpr std::chrono::seconds kDelay(1);  // shorter work shows no progress

constexpr int kDone = SIGUSR1;  // wakes the watcher at the end

sigset_t signals(std::initializer_list<int> numbers) {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : numbers) sigaddset(&set, number);
  return set;
}

sigset_t signals_of_watcher(TerminalProgress::Interrupt interrupt) {
  return interrupt == TerminalProgress::Interrupt::kReturnsBestSoFar ? signals({SIGINT, kDone}) : signals({kDone});
}

// Explains what Ctrl-C does, or has done.
std::string_view hint(TerminalProgress::Interrupt interrupt, bool is_stopping) {
  if (interrupt == TerminalProgress::Interrupt::kEndsProgram) return "";
  return is_stopping ? "; stopping with the best result so far" : "; press Ctrl-C to stop with the best result so far";
}

void clear_line() { std::cerr << "\r\033[K" << std::flush; }

}  // namespace

TerminalProgress::TerminalProgress(std::string what, Interrupt interrupt)
    : what_(std::move(what)), interrupt_(interrupt) {
  if (isatty(STDERR_FILENO) == 0) return;
  const sigset_t waited_for = signals_of_watcher(interrupt_);  // blocked in all threads
  pthread_sigmask(SIG_BLOCK, &waited_for, nullptr);
  watcher_ = std::thread([this] { watch(); });
}

TerminalProgress::~TerminalProgress() {
  if (!watcher_.joinable()) return;
  pthread_kill(watcher_.native_handle(), kDone);
  watcher_.join();
  const sigset_t interrupt = signals({SIGINT});
  pthread_sigmask(SIG_UNBLOCK, &interrupt, nullptr);
}

void TerminalProgress::watch() {
  const sigset_t waited_for = signals_of_watcher(interrupt_);
  const Clock::time_point start = Clock::now();
  bool is_shown = false;
  for (int signal = 0; signal != kDone;) {
    signal = sigtimedwait(&waited_for, nullptr, &kTick);
    if (signal == SIGINT) {
      stop_.request_stop();
      const sigset_t interrupt = signals({SIGINT});  // the next one ends the program
      pthread_sigmask(SIG_UNBLOCK, &interrupt, nullptr);
    }
    if (signal == kDone || Clock::now() - start < kDelay) continue;
    is_shown = true;
    const double elapsed = std::chrono::duration<double>(Clock::now() - start).count();
    std::cerr << fmt::format("\r\033[K{}: {:.1f} s{}", what_, elapsed, hint(interrupt_, stop_.stop_requested()))
              << std::flush;
  }
  if (is_shown) clear_line();
}

}  // namespace sailor::cli
