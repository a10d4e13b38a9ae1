// The status that follows from a decision. It is written only when it says something new.
#pragma once

#include <string>

#include "operator/reconcile/decide/decision.h"
#include "operator/reconcile/decide/policy.h"

namespace sailor {

// The decision of a policy, with the job's new status if it differs from the present one, and the events that tell the
// difference.
Decision with_status(const Observation& observation, PolicyResult result);

// One word for people.
std::string state_word(const Conditions& conditions);

}  // namespace sailor
