// status.progress: how far the job is, and what it has cost.
#pragma once

#include <optional>

#include "operator/model/observation.h"

namespace sailor {

// Computed from the last status and what is seen now; null: nothing to tell yet.
kube::Json progress_status(const Observation& observation, const std::optional<GenerationRecord>& record);

}  // namespace sailor
