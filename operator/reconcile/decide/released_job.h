// A job whose newest generation releases its GPUs: it waits for capacity, was suspended, or starts again with new pods.
#pragma once

#include <optional>

#include "operator/reconcile/decide/policy.h"

namespace sailor {

// Applies to a job that has released its GPUs, or is to. Once its state is saved, the job starts again, with new pods,
// as soon as there are GPUs for it. Where the state could not be saved, the pods that hold it continue.
std::optional<PolicyResult> resume_released_job(const Observation& observation);

}  // namespace sailor
