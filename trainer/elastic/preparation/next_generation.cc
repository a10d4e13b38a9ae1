#include "trainer/elastic/preparation/next_generation.h"

#include <utility>

namespace sailor::trainer {

void Successor::learn(Assignment assignment, const Assignment& running) {
  assignment_ = std::make_shared<const Assignment>(std::move(assignment));
  has_followers_ = has_followers(*assignment_, running);
}

std::shared_ptr<const Assignment> Successor::take() { return std::exchange(assignment_, nullptr); }

void Successor::prepare(const Standing& standing) {
  if (has_slot()) preparations_.begin(assignment_, standing);
}

bool Successor::is_prepared() const {
  return assignment_ && (!has_slot() || preparations_.is_over(assignment_->generation));
}

bool Successor::is_waited_for() const {
  return has_slot() && has_followers_ && preparations_.newest_puts_off_the_switch();
}

Feeding* Successor::feeding() const { return has_slot() ? preparations_.feeding() : nullptr; }

}  // namespace sailor::trainer
