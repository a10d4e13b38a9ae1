// The upkeep of the newest generation: its pods, its members and their assignments.
#pragma once

#include "operator/reconcile/decide/policy.h"

namespace sailor {

PolicyResult run_generation(const Observation& observation, const GenerationRecord& record, bool keeps_ended_pods);

}  // namespace sailor
