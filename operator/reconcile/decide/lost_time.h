// Counts the time of a job that did not go into steps that count, by its cause (LostCause).
#pragma once

#include <optional>

#include "operator/model/observation.h"

namespace sailor {

// Returns the elapsed seconds that are neither useful nor lost.
double unaccounted_seconds(const ProgressStatus& status);

// Adds to `status.lost_seconds`. `status` continues the last status, and has the elapsed and the useful seconds of now.
// Whatever of them is not accounted for yet is put down to the state of the last status, because that was the state
// since then. While the job trains, the time of two steps stays unaccounted, because steps in flight become useful once
// they are done.
void count_lost_time(const Observation& observation, const std::optional<JobProgress>& progress,
                     ProgressStatus& status);

}  // namespace sailor
