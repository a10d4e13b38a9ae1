// StatusReporter: sends status reports of a worker to its agent. The worker reports at each change of phase and after
// each step.
#pragma once

#include <mutex>
#include <optional>
#include <string>

#include "trainer/elastic/control/reporter.h"
#include "trainer/elastic/protocol/worker_machine.h"

namespace sailor::trainer {

WorkerPhase phase_of(WorkerPlace place);

class StatusReporter {
 public:
  StatusReporter(int gpu, Reporter& reporter) : reporter_(reporter), last_{gpu, WorkerPhase::kStarting, 0, 0, {}} {}

  struct Status {
    WorkerPhase phase = WorkerPhase::kIdle;
    std::int64_t generation = 0;
    std::int64_t step = 0;
    std::string message = {};
    std::optional<JobProgress> progress = {};       // only of rank 0
    std::optional<double> microbatch_seconds = {};  // WorkerReport::microbatch_seconds
  };
  void report(const Status& status);
  // Adds it to the report, until the worker has left the generation that it trains. Any thread may call it.
  void note_unsent(const UnsentState& unsent);
  // Adds it to the report, until the worker is not released any more. Any thread may call it.
  void note_probe(double seconds);
  [[nodiscard]] bool has_reported(WorkerPhase phase, std::int64_t generation) const {
    const std::lock_guard lock(mutex_);
    return phase == last_.phase && generation == last_.generation;
  }

 private:
  Reporter& reporter_;
  mutable std::mutex mutex_;
  WorkerReport last_;
};

// Write a log line at the start of a generation and after a step.
void log_beginning(const JobProgress& progress, int rank);
void log_step(const JobProgress& progress);

}  // namespace sailor::trainer
