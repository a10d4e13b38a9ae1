// MissedProbes: counts how many probes in a row a peer or worker has not answered. After kLimit of them it is
// unresponsive.
#pragma once

#include <chrono>

namespace sailor::trainer {

// The class counts probes instead of seconds. A process that was not scheduled sends no probes, so it does not count
// its peers' silence.
class MissedProbes {
 public:
  static constexpr int kLimit = 5;

  // Returns the time between two probes with which an unresponsive peer is noticed within the timeout.
  static std::chrono::milliseconds period_of(std::chrono::milliseconds timeout) { return timeout / kLimit; }

  void note(bool is_answered) { missed_ = is_answered ? 0 : missed_ + 1; }
  [[nodiscard]] bool is_unresponsive() const { return missed_ >= kLimit; }

 private:
  int missed_ = 0;
};

}  // namespace sailor::trainer
