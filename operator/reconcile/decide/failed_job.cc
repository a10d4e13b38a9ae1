#include "operator/reconcile/decide/failed_job.h"

namespace sailor {

PolicyResult fail_job(const Observation& observation, Reason reason, std::string message) {
  PolicyResult result{.is_final = true};
  using enum ConditionType;
  set_conditions(result, {kPlanned, kPodsReady, kRunning, kRescaling, kDegraded, kComplete},
                 no(reason, "The job has failed."));
  result.conditions[kSuspended] = no(Reason::kNotSuspended, "spec.suspend is false.");
  result.conditions[kFailed] = yes(reason, std::move(message));
  remove_running_pods(result, observation);
  return result;
}

}  // namespace sailor
