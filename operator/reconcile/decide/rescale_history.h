// Computes status.rescales: the changes from one generation to the next, their reasons and their durations.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "operator/model/job_status.h"
#include "operator/model/observation.h"

namespace sailor {

// Continues the list of the last status with this observation. Returns at most ten changes, the oldest first.
std::vector<RescaleStatus> rescales_status(const Observation& observation,
                                           const std::optional<GenerationRecord>& record);

// Returns whether `progress` includes the first step after a change that is still in progress.
bool completes_a_rescale(const Observation& observation, const JobProgress& progress);

// Returns whether the generation of the newest change has started but has not done a step yet.
bool is_before_first_step(const Observation& observation, const JobProgress& progress);

// Returns whether `progress` is what the workers report of a generation that releases the GPUs: the step that they
// saved.
bool is_of_release(const GenerationRecord& record, const JobProgress& progress);

// Marks the newest change as interrupted if it is in progress: a later change follows, or the job has ended.
void end_history(std::vector<RescaleStatus>& entries);

// Returns the number of steps that the newest change discarded: the larger of the number that the workers report and
// the difference to the step in the last status. The workers report too few if none of them remembers the old
// generation.
std::int64_t steps_lost(const Observation& observation, const JobProgress& progress);

}  // namespace sailor
