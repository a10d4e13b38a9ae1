// The policies that end a job once all its steps are done.
#pragma once

#include <optional>

#include "operator/reconcile/decide/policy.h"

namespace sailor {

// Applies once a pod has ended with the report that all steps are done, and no other pod of that generation still runs.
// A pod that is being deleted does not run, nor does one whose agent does not answer and whose node is gone; any other
// that does not answer is waited for 30 s. Pods that were to join in a later generation are not waited for. Marks the
// job as complete.
std::optional<PolicyResult> complete_job(const Observation& observation);

// Applies once a worker has reported that all steps are done. The pods now end one after the other. The result is
// final, so that no later policy treats a pod that has ended as lost.
std::optional<PolicyResult> await_end_of_pods(const Observation& observation);

}  // namespace sailor
