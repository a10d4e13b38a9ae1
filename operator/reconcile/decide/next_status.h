// Derives the status that follows from a decision.
#pragma once

#include <string>

#include "operator/reconcile/decide/decision.h"
#include "operator/reconcile/decide/policy.h"

namespace sailor {

// Turns a policy's result into a decision. Adds the new status and the events about its changes, unless the status is
// the same as before. A status in which only the progress has changed is written every few seconds.
Decision with_status(const Observation& observation, PolicyResult result);

// Returns status.state, which summarizes the conditions in one word.
std::string state_word(const Conditions& conditions);

}  // namespace sailor
