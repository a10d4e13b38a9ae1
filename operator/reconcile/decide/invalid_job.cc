#include "operator/reconcile/decide/invalid_job.h"

#include "operator/model/observation_queries.h"

namespace sailor {

std::optional<PolicyResult> hold_invalid_job(const Observation& observation) {
  if (observation.job.spec && observation.record_error.empty()) return std::nullopt;
  const Reason reason = observation.job.spec ? Reason::kInvalidRecord : Reason::kInvalidSpec;
  PolicyResult result{.is_final = true};
  using enum ConditionType;
  set_conditions(result, {kPodsReady, kRunning, kRescaling, kDegraded, kSuspended, kComplete, kFailed},
                 no(reason, "The job cannot be read; see the condition Planned."));
  if (any_worker_trains(observation)) result.conditions[kRunning] = yes(Reason::kTraining, "The workers train on.");
  result.conditions[kPlanned] =
      no(reason, observation.job.spec ? observation.record_error : observation.job.spec.error().message);
  return result;
}

}  // namespace sailor
