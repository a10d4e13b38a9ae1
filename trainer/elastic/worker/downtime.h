// Downtime: measures how long training pauses for a change of generation, as one worker sees it.
#pragma once

#include <chrono>
#include <optional>
#include <vector>

#include "trainer/elastic/protocol/state_report.h"

namespace sailor::trainer {

class Downtime {
 public:
  void note_step() { last_step_ = Clock::now(); }
  void note_generation() { obeyed_ = Clock::now(); }  // the worker obeys a new generation from now on

  // Takes the time of the last step from the state reports of all workers. Rank 0 needs it to report the downtime. It
  // may have just joined, or have been released long before the others stopped.
  void learn(const std::vector<StateReport>& reports);

  [[nodiscard]] double seconds() const;         // since the last step; 0: no worker knows of one
  [[nodiscard]] double seconds_so_far() const;  // since the last step, or since the worker obeys the generation

 private:
  using Clock = std::chrono::steady_clock;

  std::optional<Clock::time_point> last_step_;
  Clock::time_point obeyed_;
};

}  // namespace sailor::trainer
