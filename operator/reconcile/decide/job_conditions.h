// Derives the conditions of a job that has not ended and is not suspended.
#pragma once

#include <optional>

#include "operator/model/conditions.h"
#include "operator/model/observation.h"

namespace sailor {

// Returns all eight conditions. `record` is the newest record, including the one that this decision writes; empty: the
// job has no plan yet.
Conditions conditions_of(const Observation& observation, const std::optional<GenerationRecord>& record);

// The condition Planned of a job that has a plan.
Condition planned(const Observation& observation, const GenerationRecord& record);

}  // namespace sailor
