#include "operator/reconcile/decide/deadline.h"

#include <fmt/format.h>

#include "operator/reconcile/decide/failed_job.h"

namespace sailor {
namespace {

// A suspended job has no deadline.
std::optional<Time> deadline_of(const Observation& observation) {
  const auto& seconds = observation.job.spec->active_deadline;
  const auto& start = observation.job.status.start_time;
  if (!seconds || !start || observation.job.spec->suspend) return std::nullopt;
  return later(*start, seconds->value());
}

}  // namespace

std::optional<PolicyResult> fail_job_past_deadline(const Observation& observation) {
  const auto deadline = deadline_of(observation);
  if (!deadline || observation.now < *deadline) return std::nullopt;
  return fail_job(observation, Reason::kDeadlineExceeded,
                  fmt::format("The job did not end within activeDeadlineSeconds: {:.0f}.",
                              observation.job.spec->active_deadline.value().value()));
}

PolicyResult requeue_at_deadline(const Observation& observation) {
  PolicyResult result;
  if (const auto deadline = deadline_of(observation)) requeue(result, time_until(observation.now, *deadline));
  return result;
}

}  // namespace sailor
