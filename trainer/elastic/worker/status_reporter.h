// StatusReporter: sends status reports of a worker to its agent. The worker reports at each change of phase and after
// each step.
#pragma once

#include <optional>
#include <string>

#include "trainer/elastic/control/reporter.h"
#include "trainer/elastic/protocol/worker_machine.h"

namespace sailor::trainer {

WorkerPhase phase_of(WorkerPlace place);

class StatusReporter {
 public:
  StatusReporter(int gpu, Reporter& reporter) : gpu_(gpu), reporter_(reporter) {}

  struct Status {
    WorkerPhase phase = WorkerPhase::kIdle;
    std::int64_t generation = 0;
    std::int64_t step = 0;
    std::string message = {};
    std::optional<JobProgress> progress = {};  // only of rank 0
  };
  void report(const Status& status);
  [[nodiscard]] bool has_reported(WorkerPhase phase, std::int64_t generation) const {
    return phase == phase_ && generation == generation_;
  }

 private:
  int gpu_;
  Reporter& reporter_;
  WorkerPhase phase_ = WorkerPhase::kStarting;
  std::int64_t generation_ = 0;
};

// Write a log line at the start of a generation and after a step.
void log_beginning(const JobProgress& progress, int rank);
void log_step(const JobProgress& progress);

}  // namespace sailor::trainer
