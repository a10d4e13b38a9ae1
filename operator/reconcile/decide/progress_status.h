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

// Returns the progress of an ended job whose workers have completed a checkpoint since the last status, while their
// pods were ending. Returns nothing if they have not.
std::optional<ProgressStatus> progress_since_end(const Observation& observation);

}  // namespace sailor
