// NextGeneration: the newest generation that a worker knows but does not obey yet. A worker obeys a generation from the
// moment it leaves the previous one and goes to the rendezvous of the new one. Until then it prepares the generation
// (preparation.h) while it trains in the current one.
#pragma once

#include <memory>

#include "core/protocol/assignment.h"
#include "trainer/elastic/preparation/preparations.h"
#include "trainer/elastic/protocol/command.h"

namespace sailor::trainer {

class NextGeneration {
 public:
  // The preparations must outlive it.
  NextGeneration(WorkerName worker, Preparations& preparations)
      : worker_(std::move(worker)), preparations_(preparations) {}

  // Stores a newer assignment, which replaces an older one.
  void learn(Assignment assignment, const Assignment& running);
  // Returns the assignment and forgets it. The worker calls it when it starts to obey the assignment.
  std::shared_ptr<const Assignment> take();

  // Returns true if the worker may switch to the generation: the preparation has succeeded or failed, or there is
  // nothing to prepare. The worker learns of a failure when it obeys the generation. Workers may still be receiving
  // state; is_waited_for() tells.
  [[nodiscard]] bool preparation_is_over() const;
  // Returns true if training should continue because workers of the generation do not have their state yet, and another
  // step of this length ends in time.
  [[nodiscard]] bool is_waited_for(double step_seconds) const;
  [[nodiscard]] std::int64_t generation() const { return assignment_ ? assignment_->generation : 0; }

 private:
  [[nodiscard]] bool has_slot() const { return assignment_ && rank_of(*assignment_, worker_); }

  const WorkerName worker_;
  Preparations& preparations_;
  std::shared_ptr<const Assignment> assignment_;  // null: none is known
  bool streams_state_ = false;
};

}  // namespace sailor::trainer
