// TerminalProgress: shows the elapsed time of long work on a terminal. If the work can return early, the first Ctrl-C
// requests the best result so far and a second Ctrl-C ends the program. If standard error is not a terminal, it does
// nothing.
#pragma once

#include <stop_token>
#include <string>
#include <thread>

namespace sailor::cli {

class TerminalProgress {
 public:
  enum class Interrupt { kReturnsBestSoFar, kEndsProgram };

  // Shows progress from now on until it is destroyed. It must be created before any other thread, because it blocks
  // signals.
  TerminalProgress(std::string what, Interrupt interrupt);
  TerminalProgress(const TerminalProgress&) = delete;
  TerminalProgress& operator=(const TerminalProgress&) = delete;
  ~TerminalProgress();

  [[nodiscard]] std::stop_token token() const { return stop_.get_token(); }

 private:
  void watch();

  std::string what_;
  Interrupt interrupt_;
  std::stop_source stop_;
  std::thread watcher_;
};

}  // namespace sailor::cli
