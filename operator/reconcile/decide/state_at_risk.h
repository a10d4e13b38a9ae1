// Finds state that a job may lose with a pod that leaves, because the notice is too short to send it to other pods.
#pragma once

#include <optional>
#include <string>

#include "operator/model/observation.h"
#include "operator/reconcile/decide/policy.h"

namespace sailor {

// Returns two sentences that say what may be lost when, and from where the job continues then. Returns nothing if all
// state is expected to arrive in time. Once state was reported to be at risk, the sentences stay the same until it has
// arrived or the generation trains.
std::optional<std::string> state_at_risk(const Observation& observation, const GenerationRecord& record);

// Requests another decision at the time from which state that has not begun to arrive is at risk. Its reports do not
// change until then.
PolicyResult requeue_when_state_is_at_risk(const Observation& observation);

}  // namespace sailor
