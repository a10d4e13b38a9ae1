// status.progress and status.rescales: how far the job is, what it has cost, and how its plans followed each other.
#pragma once

#include <optional>

#include "operator/reconcile/observation.h"

namespace sailor {

// Both are computed from the last status and what is seen now; null: nothing to tell yet.
kube::Json progress_status(const Observation& seen, const std::optional<GenerationRecord>& record);
kube::Json rescales_status(const Observation& seen, const std::optional<GenerationRecord>& record);

// The furthest progress that the agents, or pods that have ended, report.
std::optional<JobProgress> newest_progress(const Observation& seen);
double dollars_per_hour(const Observation& seen);  // of the pods that run

}  // namespace sailor
