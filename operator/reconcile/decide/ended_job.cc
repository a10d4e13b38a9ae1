#include "operator/reconcile/decide/ended_job.h"

#include <algorithm>
#include <iterator>

#include "operator/reconcile/decide/policy.h"
#include "operator/reconcile/decide/progress_status.h"
#include "operator/reconcile/decide/queueing.h"

namespace sailor {

Decision clean_up_ended_job(const Observation& observation) {
  PolicyResult result;
  remove_running_pods(result, observation);
  std::ranges::move(finish_workloads(observation), std::back_inserter(result.actions));
  const auto& ended = observation.job.status.completion_time;
  if (observation.job.spec && observation.job.spec->ttl_after_finished && ended) {
    const Time end = later(*ended, observation.job.spec->ttl_after_finished->value());
    if (observation.now >= end) {
      result.actions.emplace_back(DeleteJob{});
    } else {
      requeue(result, time_until(observation.now, end));
    }
  }
  Decision decision{std::move(result.actions), std::nullopt, {}, result.requeue_after};
  if (auto progress = progress_since_end(observation)) {
    decision.status = observation.job.status;
    decision.status->progress = std::move(progress);
  }
  return decision;
}

}  // namespace sailor
