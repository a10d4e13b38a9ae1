#include "operator/reconcile/decide/progress_status.h"

#include <algorithm>
#include <cmath>

#include "operator/model/observation_queries.h"
#include "operator/reconcile/decide/lost_time.h"
#include "operator/reconcile/decide/rescale_history.h"

namespace sailor {
namespace {

// Returns the seconds since the progress was last written; empty: it was never written.
std::optional<double> seconds_since(const Observation& observation, const ProgressStatus& last) {
  if (!last.time) return std::nullopt;
  return std::max(0.0, seconds_between(*last.time, observation.now));
}

// Returns the step at which the job begins: that of another job's checkpoint, if its spec names one. The first progress
// of the job says which.
std::int64_t first_step(const Observation& observation, const JobProgress& progress) {
  const bool has_source = observation.job.spec && observation.job.spec->checkpoint.resume_from;
  return has_source ? progress.resumed_step : 0;
}

// Adds what the running pods and the messages of new steps have cost since the last status.
void count_dollars(const Observation& observation, const std::optional<JobProgress>& progress,
                   const GenerationRecord& record, ProgressStatus& status) {
  const ProgressStatus& last = status;
  const auto passed = seconds_since(observation, last);
  if (!passed) return;
  std::int64_t steps = 0;
  if (progress) {
    const std::int64_t step = last.newest ? last.newest->step : first_step(observation, *progress);
    steps = std::max<std::int64_t>(0, progress->step - step);
  }
  const double traffic = record.summary.traffic_cost_per_iteration * static_cast<double>(steps);
  status.traffic_dollars += traffic;
  const auto since_last = [&](double per_hour) { return (DollarsPerHour(per_hour) * Seconds(*passed)).value(); };
  status.dollars_spent += since_last(gpu_dollars_per_hour(observation)) + traffic;
  status.saved_dollars += since_last(saved_dollars_per_hour(observation));
}

bool is_suspended(const Observation& observation) {
  return observation.job.status.is_true(ConditionType::kSuspended) ||
         (observation.job.spec && observation.job.spec->suspend);
}

// Counts the elapsed and the useful seconds. A repeated step counts once. New steps count with the usual time of a
// step, and together never for more than the time that is not accounted for. Both sums continue from the last status,
// so they survive a restart of the operator.
void count_goodput(const Observation& observation, const std::optional<JobProgress>& progress,
                   const ProgressStatus& last, ProgressStatus& status) {
  if (!is_suspended(observation)) status.elapsed_seconds += seconds_since(observation, last).value_or(0);
  if (!progress) return;
  const std::int64_t furthest = last.furthest_step.value_or(first_step(observation, *progress));
  const auto steps = static_cast<double>(std::max<std::int64_t>(0, progress->step - furthest));
  status.useful_seconds += std::min(steps * progress->step_seconds, unaccounted_seconds(status));
  status.furthest_step = std::max(furthest, progress->step);
}

// Returns the tokens of the steps that this job has done itself. Every step has equally many.
std::int64_t own_tokens(const JobProgress& progress, const StepStatus& status) {
  if (progress.step <= status.began_at_step) return 0;
  return progress.tokens / progress.step * (progress.step - status.began_at_step);
}

void note_checkpoint(const JobProgress& progress, StepStatus& status) {
  status.last_checkpoint_step = std::max(status.last_checkpoint_step, progress.last_checkpoint_step);
}

// Takes over what the workers have saved before they release their GPUs. Steps that they have not saved stay, so that
// the change with which the job resumes counts them as lost.
void note_saved(const JobProgress& saved, StepStatus& status) {
  note_checkpoint(saved, status);
  if (saved.step <= status.step) return;
  status.step = saved.step;
  status.loss = saved.loss;
  status.tokens = own_tokens(saved, status);
}

StepStatus step_status(const Observation& observation, const ProgressStatus& last, const JobProgress& progress) {
  StepStatus status = last.newest.value_or(StepStatus{.began_at_step = first_step(observation, progress)});
  status.step = progress.step;
  status.loss = progress.loss;
  status.first_loss = progress.first_loss;
  if (progress.validation_loss) status.validation_loss = progress.validation_loss;
  status.steps_skipped = progress.steps_skipped;
  status.tokens_per_second = std::llround(std::max(0.0, progress.tokens_per_second));
  status.tokens = own_tokens(progress, status);
  status.last_checkpoint_step = progress.last_checkpoint_step;
  if (completes_a_rescale(observation, progress)) status.steps_lost += steps_lost(observation, progress);
  return status;
}

}  // namespace

std::optional<ProgressStatus> progress_status(const Observation& observation,
                                              const std::optional<GenerationRecord>& record) {
  if (!record) return observation.job.status.progress;
  const ProgressStatus last = observation.job.status.progress.value_or(ProgressStatus{});
  const auto progress = newest_progress(observation);
  ProgressStatus status = last;
  count_dollars(observation, progress, *record, status);
  count_goodput(observation, progress, last, status);
  count_lost_time(observation, progress, status);
  status.dollars_per_hour = dollars_per_hour(observation);
  status.time = observation.now;
  if (observation.job.spec) status.total_steps = observation.job.spec->training.steps;
  if (!progress) return status;
  if (is_of_release(*record, *progress)) {
    if (status.newest) note_saved(*progress, *status.newest);
    return status;
  }
  // Before the first step of a generation, the step that the job had reached is still needed to count the steps lost.
  if (status.newest && progress->step <= progress->resumed_step) {
    note_checkpoint(*progress, *status.newest);
    return status;
  }
  status.newest = step_status(observation, last, *progress);
  return status;
}

std::optional<ProgressStatus> progress_since_end(const Observation& observation) {
  std::optional<ProgressStatus> status = observation.job.status.progress;
  const auto progress = newest_progress(observation);
  if (!progress || !status || !status->newest) return std::nullopt;
  if (progress->last_checkpoint_step <= status->newest->last_checkpoint_step) return std::nullopt;
  note_saved(*progress, *status->newest);
  return status;
}

}  // namespace sailor
