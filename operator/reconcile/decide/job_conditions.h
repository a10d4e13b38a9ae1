// The conditions of a job that trains or is to train.
#pragma once

#include <optional>

#include "operator/model/conditions.h"
#include "operator/model/observation.h"

namespace sailor {

// `record` is the newest one, after this decision; empty: there is no plan yet. All conditions are set.
Conditions conditions_of(const Observation& observation, const std::optional<GenerationRecord>& record);

}  // namespace sailor
