// status.rescales: how the job's plans followed each other, why, and what each change took.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "operator/model/job_status.h"
#include "operator/model/observation.h"

namespace sailor {

// The last ten changes, oldest first: those of the last status, continued by what is observed now.
std::vector<RescaleStatus> rescales_status(const Observation& observation,
                                           const std::optional<GenerationRecord>& record);

// The first step after the newest change has just been observed.
bool completes_a_rescale(const Observation& observation, const JobProgress& progress);

// The generation of the newest change has started, and has not done a step yet.
bool is_before_first_step(const Observation& observation, const JobProgress& progress);

// Steps whose work was thrown away when the newest change completed. The workers that took part know how far they were;
// if none of the job's workers is left, the status tells how far the job had come.
std::int64_t steps_lost(const Observation& observation, const JobProgress& progress);

}  // namespace sailor
