// Computes status.progress: the progress of the job and its cost so far.
#pragma once

#include <optional>

#include "operator/model/job_status.h"
#include "operator/model/observation.h"

namespace sailor {

// Continues the progress of the last status with this observation. Returns nothing for a job that has never had a
// record.
std::optional<ProgressStatus> progress_status(const Observation& observation,
                                              const std::optional<GenerationRecord>& record);

}  // namespace sailor
