// status.progress: how far the job is, and what it has cost.
#pragma once

#include <optional>

#include "operator/model/job_status.h"
#include "operator/model/observation.h"

namespace sailor {

// The progress of the last status, continued by what is observed now; empty: there is nothing to tell yet.
std::optional<ProgressStatus> progress_status(const Observation& observation,
                                              const std::optional<GenerationRecord>& record);

}  // namespace sailor
