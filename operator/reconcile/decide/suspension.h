// spec.suspend: the job saves its state and releases its GPUs until the user wants it again.
#pragma once

#include <optional>

#include "operator/kube/object.h"
#include "operator/reconcile/decide/policy.h"

namespace sailor {

std::optional<PolicyResult> suspend_job(const Observation& observation);

// Whether a TrainingJob has a use for its agents, and for the state that they hold: not if it is suspended (once its
// state is saved), has ended, or is being deleted.
bool needs_agents(const kube::Json& job);

}  // namespace sailor
