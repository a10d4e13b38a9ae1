// Preparations: the preparation of the newest generation that a worker knows, and abandoned older preparations whose
// threads have not ended yet.
#pragma once

#include <memory>
#include <vector>

#include "trainer/elastic/preparation/preparation.h"

namespace sailor::trainer {

class Preparations {
 public:
  // The settings and the mailbox must outlive it.
  Preparations(const WorkerSettings& settings, const AssignmentMailbox& mailbox)
      : settings_(settings), mailbox_(mailbox) {}

  // Starts to prepare this generation, unless it has started already. Abandons older preparations.
  void begin(const std::shared_ptr<const Assignment>& assignment, const PreparationReport& preparation_report);
  void abandon();        // abandons the newest preparation, whose thread then ends soon
  void destroy_ended();  // destroys abandoned preparations that have ended

  [[nodiscard]] bool is_over(std::int64_t generation) const;  // done or failed

  // These three functions use the newest preparation. begin() must have been called after the last abandon().
  std::optional<Prepared> take() { return newest_->take(); }
  [[nodiscard]] bool newest_delays_switch() const { return newest_->delays_switch(); }
  [[nodiscard]] StateStreams* outgoing_streams() const { return newest_->outgoing_streams(); }

 private:
  const WorkerSettings& settings_;
  const AssignmentMailbox& mailbox_;
  std::unique_ptr<Preparation> newest_;
  std::vector<std::unique_ptr<Preparation>> abandoned_;
};

}  // namespace sailor::trainer
