#include "trainer/elastic/worker/status_reporter.h"

#include <fmt/format.h>

#include "core/log/log.h"

namespace sailor::trainer {

WorkerPhase phase_of(WorkerPlace place) {
  switch (place) {
    case WorkerPlace::kIdle:
      return WorkerPhase::kIdle;
    case WorkerPlace::kRendezvous:
    case WorkerPlace::kTransferring:
    case WorkerPlace::kConfirming:
      return WorkerPhase::kPreparing;
    case WorkerPlace::kComputing:
    case WorkerPlace::kVoting:
    case WorkerPlace::kAwaitingLease:
    case WorkerPlace::kFinishing:
      return WorkerPhase::kTraining;
    case WorkerPlace::kBroken:
      return WorkerPhase::kBroken;
    case WorkerPlace::kReleased:
      return WorkerPhase::kReleased;
    case WorkerPlace::kDone:
      return WorkerPhase::kFinished;
  }
  return WorkerPhase::kFailed;
}

void StatusReporter::report(const Status& status) {
  phase_ = status.phase;
  generation_ = status.generation;
  reporter_.report({.gpu = gpu_,
                    .phase = status.phase,
                    .generation = status.generation,
                    .step = status.step,
                    .message = status.message},
                   status.progress);
}

void log_beginning(const JobProgress& progress, int rank) {
  log_info("generation begins", {{"generation", std::to_string(progress.generation)},
                                 {"rank", std::to_string(rank)},
                                 {"step", std::to_string(progress.step)},
                                 {"loss", fmt::format("{:.9g}", progress.loss)},
                                 {"steps_lost", std::to_string(progress.steps_lost)}});
}

void log_step(const JobProgress& progress) {
  log_info("step", {{"generation", std::to_string(progress.generation)},
                    {"step", std::to_string(progress.step)},
                    {"loss", fmt::format("{:.9g}", progress.loss)},
                    {"tokens_per_second", fmt::format("{:.1f}", progress.tokens_per_second)}});
}

}  // namespace sailor::trainer
