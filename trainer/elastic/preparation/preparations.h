// Preparations: of the newest generation that a worker knows of, and of older ones that have not ended yet.
#pragma once

#include <memory>
#include <vector>

#include "trainer/elastic/preparation/preparation.h"

namespace sailor::trainer {

class Preparations {
 public:
  // The settings and the inbox outlive it.
  Preparations(const WorkerSettings& settings, const Inbox& inbox) : settings_(settings), inbox_(inbox) {}

  // Unless it has begun already. What was prepared for an older generation is of no use any more.
  void begin(const std::shared_ptr<const Assignment>& assignment, const Standing& standing);
  void abandon();  // the newest too; its thread ends when it notices
  void forget_ended();

  [[nodiscard]] bool is_over(std::int64_t generation) const;  // done or failed

  // Of the one that has begun last.
  std::optional<Prepared> take() { return newest_->take(); }
  [[nodiscard]] bool newest_puts_off_the_switch() const { return newest_->puts_off_the_switch(); }
  [[nodiscard]] Feeding* feeding() const { return newest_->feeding(); }

 private:
  const WorkerSettings& settings_;
  const Inbox& inbox_;
  std::unique_ptr<Preparation> newest_;
  std::vector<std::unique_ptr<Preparation>> abandoned_;
};

}  // namespace sailor::trainer
