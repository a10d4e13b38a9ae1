#include "trainer/elastic/preparation/next_generation.h"

#include <utility>

namespace sailor::trainer {

void NextGeneration::learn(Assignment assignment, const Assignment& running) {
  assignment_ = std::make_shared<const Assignment>(std::move(assignment));
  has_joining_workers_ = has_joining_workers(*assignment_, running);
}

std::shared_ptr<const Assignment> NextGeneration::take() { return std::exchange(assignment_, nullptr); }

void NextGeneration::prepare(const PreparationReport& preparation_report) {
  if (has_slot()) preparations_.begin(assignment_, preparation_report);
}

bool NextGeneration::preparation_is_over() const {
  return assignment_ && (!has_slot() || preparations_.is_over(assignment_->generation));
}

bool NextGeneration::is_waited_for() const {
  return has_slot() && has_joining_workers_ && preparations_.newest_delays_switch();
}

StateStreams* NextGeneration::outgoing_streams() const {
  return has_slot() ? preparations_.outgoing_streams() : nullptr;
}

}  // namespace sailor::trainer
