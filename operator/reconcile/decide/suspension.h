// The policy for spec.suspend: the job saves its state and releases its GPUs until the user resumes it.
#pragma once

#include <optional>

#include "operator/kube/object.h"
#include "operator/reconcile/decide/policy.h"

namespace sailor {

// Applies while spec.suspend is true. Saves the state, then deletes all pods of the job.
std::optional<PolicyResult> suspend_job(const Observation& observation);

// Returns whether a TrainingJob still needs its agents and the state that they hold. It does not if it has ended, is
// being deleted, or is suspended and has saved its state. The operator tells an agent this in the reply to a hint.
bool needs_agents(const kube::Json& job);

}  // namespace sailor
