// Patience: long work at a terminal. Shows how long it has taken so far and, where the work can be cut short, makes
// Ctrl-C ask for the best answer so far; a second Ctrl-C ends the program. Where standard error is no terminal it does
// nothing.
#pragma once

#include <stop_token>
#include <string>
#include <thread>

namespace sailor::cli {

class Patience {
 public:
  enum class Interrupt { kAsksForBestSoFar, kEndsProgram };

  // From now until it is destroyed; made before other threads are.
  Patience(std::string what, Interrupt interrupt);
  Patience(const Patience&) = delete;
  Patience& operator=(const Patience&) = delete;
  ~Patience();

  [[nodiscard]] std::stop_token token() const { return stop_.get_token(); }

 private:
  void watch();

  std::string what_;
  Interrupt interrupt_;
  std::stop_source stop_;
  std::thread watcher_;
};

}  // namespace sailor::cli
