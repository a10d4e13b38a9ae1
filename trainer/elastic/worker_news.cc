#include "trainer/elastic/worker_news.h"

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

}  // namespace sailor::trainer
