// Successor: the newest generation that a worker knows of and does not obey yet, for the one that it obeys trains on.
#pragma once

#include <memory>

#include "core/protocol/assignment.h"
#include "trainer/elastic/preparation/preparations.h"
#include "trainer/elastic/protocol/command.h"

namespace sailor::trainer {

class Successor {
 public:
  // The preparations outlive it.
  Successor(WorkerName worker, Preparations& preparations) : worker_(std::move(worker)), preparations_(preparations) {}

  void learn(Assignment assignment, const Assignment& running);  // in place of an older one
  std::shared_ptr<const Assignment> take();                      // to obey it: then none is known

  void prepare(const Standing& standing);    // if this worker takes part, and unless it has begun already
  [[nodiscard]] bool is_prepared() const;    // as far as it ever will be: a failure too is found out by obeying it
  [[nodiscard]] bool is_waited_for() const;  // its newcomers are, by those who train on
  [[nodiscard]] Feeding* feeding() const;    // of those who follow this worker; null: nobody does
  [[nodiscard]] std::int64_t generation() const { return assignment_ ? assignment_->generation : 0; }

 private:
  [[nodiscard]] bool has_slot() const { return assignment_ && slot_of(*assignment_, worker_); }

  const WorkerName worker_;
  Preparations& preparations_;
  std::shared_ptr<const Assignment> assignment_;  // null: none is known
  bool has_followers_ = false;
};

}  // namespace sailor::trainer
