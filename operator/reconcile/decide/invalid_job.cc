#include "operator/reconcile/decide/invalid_job.h"

namespace sailor {

std::optional<PolicyResult> hold_invalid_job(const Observation& observation) {
  const std::string error = !observation.job.spec ? observation.job.spec.error().message : observation.record_error;
  if (observation.job.spec && error.empty()) return std::nullopt;
  PolicyResult result{.is_final = true};
  using enum ConditionType;
  set_conditions(result, {kPodsReady, kRunning, kRescaling, kDegraded, kSuspended, kComplete, kFailed},
                 no(Reason::kInvalidSpec, "The job cannot be read; see the condition Planned."));
  result.conditions[kPlanned] = no(Reason::kInvalidSpec, error);
  return result;
}

}  // namespace sailor
