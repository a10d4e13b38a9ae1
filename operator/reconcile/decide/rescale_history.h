// status.rescales: how the job's plans followed each other, why, and what each change took.
#pragma once

#include <cstdint>
#include <optional>

#include "operator/model/observation.h"

namespace sailor {

// Computed from the last status and what is seen now: the last ten, oldest first.
kube::Json rescales_status(const Observation& observation, const std::optional<GenerationRecord>& record);

// The first step after the newest change has just been seen.
bool completes_a_rescale(const Observation& observation, const JobProgress& progress);

// The generation of the newest change has begun, and not done a step yet.
bool is_before_first_step(const Observation& observation, const JobProgress& progress);

// Steps whose work was thrown away when the newest change completed. Its workers know how far those were who met; how
// far a job had come of which nobody is left, the status tells.
std::int64_t steps_lost(const Observation& observation, const JobProgress& progress);

}  // namespace sailor
