// Downtime: how long training pauses for a change of generation, as seen by one worker.
#pragma once

#include <chrono>
#include <optional>
#include <vector>

#include "trainer/elastic/protocol/holding.h"

namespace sailor::trainer {

class Downtime {
 public:
  void note_step() { last_step_ = Clock::now(); }
  void note_generation() { obeyed_ = Clock::now(); }  // the worker obeys a new generation from now on

  // For a worker that has not done a step itself. Rank 0 reports the downtime, and it may have just joined.
  void learn(const std::vector<Holding>& holdings);

  [[nodiscard]] double seconds() const;         // since the last step; 0: no step was done
  [[nodiscard]] double seconds_so_far() const;  // since the last step, or since the worker obeys the generation

 private:
  using Clock = std::chrono::steady_clock;

  std::optional<Clock::time_point> last_step_;
  Clock::time_point obeyed_;
};

}  // namespace sailor::trainer
