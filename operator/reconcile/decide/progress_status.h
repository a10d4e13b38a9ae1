// status.progress: how far the job is, and what it has cost.
#pragma once

#include <optional>

#include "operator/model/observation.h"

namespace sailor {

// Computed from the last status and what is seen now; null: nothing to tell yet.
kube::Json progress_status(const Observation& seen, const std::optional<GenerationRecord>& record);

// The furthest progress that the agents, or pods that have ended, report.
std::optional<JobProgress> newest_progress(const Observation& seen);
double decimal_at(const kube::Json& object, kube::Path path);  // decimals in a status are texts; 0: none is there
double dollars_per_hour(const Observation& seen);              // of the pods that run

}  // namespace sailor
