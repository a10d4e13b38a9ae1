// WorkerNews: what a worker tells of itself, and when: at each change of its phase, and after each step.
#pragma once

#include <optional>
#include <string>

#include "trainer/elastic/control/reporter.h"
#include "trainer/elastic/protocol/worker_machine.h"

namespace sailor::trainer {

WorkerPhase phase_of(Place place);

class WorkerNews {
 public:
  WorkerNews(int gpu, Reporter& reporter) : gpu_(gpu), reporter_(reporter) {}

  struct News {
    WorkerPhase phase = WorkerPhase::kIdle;
    std::int64_t generation = 0;
    std::int64_t step = 0;
    std::string message = {};
    std::optional<JobProgress> progress = {};  // of rank 0 only
  };
  void tell(const News& news);
  [[nodiscard]] bool is_told(WorkerPhase phase, std::int64_t generation) const {
    return phase == phase_ && generation == generation_;
  }

 private:
  int gpu_;
  Reporter& reporter_;
  WorkerPhase phase_ = WorkerPhase::kStarting;
  std::int64_t generation_ = 0;
};

// For the log.
void log_beginning(const JobProgress& progress, int rank);  // of a generation
void log_step(const JobProgress& progress);

}  // namespace sailor::trainer
