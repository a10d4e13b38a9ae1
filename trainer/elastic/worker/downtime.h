// Standstill: how long training stands still in a change of shape, as one worker knows it.
#pragma once

#include <chrono>
#include <optional>
#include <vector>

#include "trainer/elastic/protocol/holding.h"

namespace sailor::trainer {

class Standstill {
 public:
  void note_step() { last_step_ = Clock::now(); }
  void note_generation() { obeyed_ = Clock::now(); }  // it is obeyed from now on

  // Of a worker that has done no step itself: how long training stands still is told by rank 0, which may be new here.
  void learn(const std::vector<Holding>& holdings);

  [[nodiscard]] double seconds() const;         // since the last step; 0: none was done
  [[nodiscard]] double seconds_so_far() const;  // the same, and where none was done since the generation is obeyed

 private:
  using Clock = std::chrono::steady_clock;

  std::optional<Clock::time_point> last_step_;
  Clock::time_point obeyed_;
};

}  // namespace sailor::trainer
