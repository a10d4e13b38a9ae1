// NextGeneration: the newest generation that a worker knows, while it still trains in the current one.
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

  void learn(Assignment assignment, const Assignment& running);  // replaces an older one
  std::shared_ptr<const Assignment> take();  // when the worker starts to obey it; afterwards none is known

  void prepare(const PreparationState&
                   preparation_state);       // if this worker has a slot in it; does nothing if it has started already
  [[nodiscard]] bool is_prepared() const;    // also true after a failure, which shows when the worker obeys it
  [[nodiscard]] bool is_waited_for() const;  // training continues until its joining workers have their state
  [[nodiscard]] StateStreaming* streaming() const;  // streams from this worker; null: none
  [[nodiscard]] std::int64_t generation() const { return assignment_ ? assignment_->generation : 0; }

 private:
  [[nodiscard]] bool has_slot() const { return assignment_ && slot_of(*assignment_, worker_); }

  const WorkerName worker_;
  Preparations& preparations_;
  std::shared_ptr<const Assignment> assignment_;  // null: none is known
  bool has_joining_workers_ = false;
};

}  // namespace sailor::trainer
