// The policy for a job whose GPUs are claimed by a job of higher priority.
#pragma once

#include <optional>

#include "operator/reconcile/decide/next_generation.h"
#include "operator/reconcile/decide/policy.h"

namespace sailor {

// Returns the job of higher priority that claims GPUs which the generation uses; null: none does.
const Rival* find_claimant(const Observation& observation, const Generation& generation);

// Makes a generation on the GPUs that the job may still use, for the reason `cause`. The job trains on until the change
// is prepared. If no plan fits these GPUs, saves the state and releases all GPUs for the reason `why_paused`. If the
// job's elasticity allows no such change, releases them for the reason `cause`. State that cannot be saved is lost.
PolicyResult give_up_gpus(const Observation& observation, const GenerationRecord& record, const Cause& cause,
                          const Cause& why_paused);

// Releases all GPUs of the job to the claimant. State that cannot be saved is lost.
PolicyResult yield_all_gpus(const Observation& observation, const GenerationRecord& record, const Rival& claimant);

// Applies to a job that trains, or that has not started yet (give_up_gpus).
std::optional<PolicyResult> yield_gpus(const Observation& observation);

}  // namespace sailor
