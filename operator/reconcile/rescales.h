// status.rescales: how the job's plans followed each other, why, and what each change took.
#pragma once

#include <optional>

#include "operator/reconcile/observation.h"

namespace sailor {

// Computed from the last status and what is seen now: the last ten, oldest first.
kube::Json rescales_status(const Observation& seen, const std::optional<GenerationRecord>& record);

// The first step after the newest change has just been seen.
bool completes_a_rescale(const Observation& seen, const JobProgress& progress);

}  // namespace sailor
