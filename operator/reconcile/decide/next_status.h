// Derives the status that follows from a decision.
#pragma once

#include <string>

#include "operator/reconcile/decide/decision.h"
#include "operator/reconcile/decide/policy.h"

namespace sailor {

// Turns a policy's result into a decision. Adds the new status and the events about its changes, unless the status is
// the same as before. If only the progress has changed, the status is written at most every two seconds, or every
// thirty seconds if the step has not changed.
Decision with_status(const Observation& observation, PolicyResult result);

// Returns status.state, which summarizes the conditions in one word.
std::string state_word(const Conditions& conditions);

}  // namespace sailor
