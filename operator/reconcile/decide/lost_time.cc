#include "operator/reconcile/decide/lost_time.h"

#include <algorithm>

#include "operator/reconcile/decide/rescale_history.h"

namespace sailor {
namespace {

// Returns the cause of time that passes in the state of this status. Empty: the time of such a job does not count.
std::optional<LostCause> cause_of(const JobStatus& status) {
  const ConditionStatus* rescaling = status.find(ConditionType::kRescaling);
  if (status.state == "Waiting") return LostCause::kWaiting;
  if (status.state == "Pending") return LostCause::kPlanning;
  if (status.state == "Starting") return LostCause::kStarting;
  if (status.state == "Running") return LostCause::kStalled;
  if (status.state != "Rescaling") return std::nullopt;
  const bool was_paused = rescaling != nullptr && rescaling->condition.reason == Reason::kResumed;
  return was_paused ? LostCause::kStarting : LostCause::kRescaling;
}

// Returns the number of steps since the last status that the job had done before.
std::int64_t repeated_steps(const Observation& observation, const JobProgress& progress) {
  const auto& last = observation.job.status.progress;
  if (!last || !last->newest) return 0;
  const bool is_first = completes_a_rescale(observation, progress);
  const std::int64_t from = is_first ? progress.resumed_step : last->newest->step;
  const std::int64_t to = std::min(progress.step, last->furthest_step.value_or(0));
  return std::max<std::int64_t>(0, to - from);
}

}  // namespace

double unaccounted_seconds(const ProgressStatus& status) {
  double rest = status.elapsed_seconds - status.useful_seconds;
  for (const auto& [cause, seconds] : status.lost_seconds) rest -= seconds;
  return std::max(0.0, rest);
}

void count_lost_time(const Observation& observation, const std::optional<JobProgress>& progress,
                     ProgressStatus& status) {
  constexpr double kStepsInFlight = 2;
  const JobStatus& last = observation.job.status;
  const double step_seconds = progress ? progress->step_seconds : 0;
  if (progress && !is_before_first_step(observation, *progress)) {
    const double repeated = static_cast<double>(repeated_steps(observation, *progress)) * step_seconds;
    if (repeated > 0) status.lost_seconds[LostCause::kRepeating] += std::min(repeated, unaccounted_seconds(status));
  }
  const auto cause = cause_of(last);
  const double in_flight = last.is_true(ConditionType::kRunning) ? kStepsInFlight * step_seconds : 0;
  const double lost = unaccounted_seconds(status) - in_flight;
  if (cause && lost > 0) status.lost_seconds[*cause] += lost;
}

}  // namespace sailor
