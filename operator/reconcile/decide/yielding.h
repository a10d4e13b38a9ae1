// The policy for a job whose GPUs are claimed by a job of higher priority.
#pragma once

#include <optional>

#include "operator/reconcile/decide/policy.h"

namespace sailor {

// Returns the job of higher priority that claims GPUs which the generation uses; null: none does.
const Rival* find_claimant(const Observation& observation, const Generation& generation);

// Releases all GPUs of the job to the claimant. State that cannot be saved is lost.
PolicyResult yield_all_gpus(const Observation& observation, const GenerationRecord& record, const Rival& claimant);

// Applies to a job that trains, or that has not started yet. It continues on the GPUs that are left, and trains on
// until the change is prepared. If no plan fits them, it saves its state and releases all its GPUs.
std::optional<PolicyResult> yield_gpus(const Observation& observation);

}  // namespace sailor
