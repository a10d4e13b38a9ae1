#include "trainer/elastic/preparation/next_generation.h"

#include <chrono>
#include <utility>

#include "core/protocol/timeouts.h"

namespace sailor::trainer {

void NextGeneration::learn(Assignment assignment, const Assignment& running) {
  assignment_ = std::make_shared<const Assignment>(std::move(assignment));
  streams_state_ = streams_state(*assignment_, running);
}

std::shared_ptr<const Assignment> NextGeneration::take() { return std::exchange(assignment_, nullptr); }

bool NextGeneration::preparation_is_over() const {
  return assignment_ && (!has_slot() || preparations_.is_over(assignment_->generation));
}

bool NextGeneration::is_waited_for(double step_seconds) const {
  if (!has_slot() || !streams_state_ || !preparations_.delays_switch(assignment_->generation)) return false;
  const auto& leave_by = assignment_->leave_by;
  return !leave_by ||
         std::chrono::system_clock::now() + std::chrono::duration<double>(step_seconds) < *leave_by - kTimeToLeave;
}

}  // namespace sailor::trainer
