#include "trainer/elastic/worker/status_reporter.h"

#include <fmt/format.h>

#include "core/log/log.h"

namespace sailor::trainer {

WorkerPhase phase_of(Place place) {
  switch (place) {
    case Place::kIdle:
      return WorkerPhase::kIdle;
    case Place::kMeeting:
    case Place::kMoving:
    case Place::kConfirming:
      return WorkerPhase::kPreparing;
    case Place::kComputing:
    case Place::kVoting:
    case Place::kPaused:
    case Place::kFinishing:
      return WorkerPhase::kTraining;
    case Place::kBroken:
      return WorkerPhase::kBroken;
    case Place::kReleased:
      return WorkerPhase::kReleased;
    case Place::kDone:
      return WorkerPhase::kFinished;
  }
  return WorkerPhase::kFailed;
}

void WorkerNews::tell(const News& news) {
  phase_ = news.phase;
  generation_ = news.generation;
  reporter_.report(
      {.gpu = gpu_, .phase = news.phase, .generation = news.generation, .step = news.step, .message = news.message},
      news.progress);
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
