// Derives the Kubernetes events of a job from the changes of its status.
#pragma once

#include <vector>

#include "operator/reconcile/decide/decision.h"

namespace sailor {

// Returns an event for each condition that has changed and that people may want to know about, and for each pool whose
// price has been found to be unknown.
std::vector<JobEvent> events_of_change(const JobStatus& before, const JobStatus& now);

}  // namespace sailor
