// The policy for a job whose newest generation releases the GPUs, because the job waits for capacity, was suspended, or
// restarts with new pods.
#pragma once

#include <optional>

#include "operator/reconcile/decide/policy.h"

namespace sailor {

// Applies if the newest generation releases the GPUs. Waits until the state is saved, then starts the job with new pods
// as soon as a plan fits the available GPUs. If saving failed, the pods that hold the state continue instead. With
// elasticity Off, waits until the GPUs of the first plan are available.
std::optional<PolicyResult> resume_released_job(const Observation& observation);

}  // namespace sailor
