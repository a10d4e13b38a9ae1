// Events: the changes from one status of a job to the next that people may want to read.
#pragma once

#include <vector>

#include "operator/reconcile/decide/decision.h"

namespace sailor {

std::vector<EventNote> events_of_change(const JobStatus& before, const JobStatus& now);

}  // namespace sailor
