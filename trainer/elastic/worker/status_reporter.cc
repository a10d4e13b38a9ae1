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
  const std::lock_guard lock(mutex_);
  const bool trains_on = status.phase == WorkerPhase::kTraining && status.generation == last_.generation;
  const bool may_send = trains_on || status.phase == WorkerPhase::kPreparing;
  last_ = {.gpu = last_.gpu,
           .phase = status.phase,
           .generation = status.generation,
           .step = status.step,
           .message = status.message,
           .unsent = may_send ? last_.unsent : UnsentState{},
           .microbatch_seconds = status.microbatch_seconds};
  reporter_.report(last_, status.progress);
}

void StatusReporter::note_unsent(const UnsentState& unsent) {
  const std::lock_guard lock(mutex_);
  const bool is_known = unsent == last_.unsent || (unsent.bytes == 0 && last_.unsent.bytes == 0);
  if (is_known || last_.phase != WorkerPhase::kTraining) return;
  last_.unsent = unsent;
  reporter_.report(last_, std::nullopt);
}

void StatusReporter::note_probe(double seconds) {
  const std::lock_guard lock(mutex_);
  if (last_.phase != WorkerPhase::kReleased) return;
  last_.probe_seconds = seconds;
  reporter_.report(last_, std::nullopt);
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
