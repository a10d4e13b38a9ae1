// MissedProbes: how many probes in a row a peer or worker has left without an answer.
#pragma once

#include <chrono>

namespace sailor::trainer {

// Probes are counted, not seconds: a process that gets no processor time sends no probes, so it does not take its peers
// for unresponsive.
class MissedProbes {
 public:
  static constexpr int kLimit = 5;

  // The time between two probes, so that an unresponsive peer is noticed within the timeout.
  static std::chrono::milliseconds period_of(std::chrono::milliseconds timeout) { return timeout / kLimit; }

  void note(bool is_answered) { missed_ = is_answered ? 0 : missed_ + 1; }
  [[nodiscard]] bool is_over_limit() const { return missed_ >= kLimit; }

 private:
  int missed_ = 0;
};

}  // namespace sailor::trainer
