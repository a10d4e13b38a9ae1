// Finds state that a job may lose with a pod that leaves, because the notice is too short to send it to other pods.
#pragma once

#include <optional>
#include <string>

#include "operator/model/observation.h"

namespace sailor {

// Returns two sentences that say what may be lost when, and from where the job continues then. Returns nothing if all
// state is expected to arrive in time. Once state was reported to be at risk, the sentences stay the same until it has
// arrived or the generation trains.
std::optional<std::string> state_at_risk(const Observation& observation, const GenerationRecord& record);

}  // namespace sailor
