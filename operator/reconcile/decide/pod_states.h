// Lineup: the job's pods and older generations as the protocol's functions take them (operator/protocol/fencing.h).
#pragma once

#include <vector>

#include "operator/model/observation.h"
#include "operator/protocol/fencing.h"

namespace sailor {

struct PodStates {
  // Those of the placement in its order, then the job's other pods, then pods of older generations that are gone. A
  // null pointer: there is no such pod.
  std::vector<const PodView*> pods;
  std::vector<PodState> states;        // of each of them
  std::vector<OlderGeneration> older;  // as in the record
};

// Whether the operator renews the lease of this generation.
bool is_renewed(const GenerationRecord& record, std::int64_t generation);

PodStates pod_states_of(const Observation& observation, const GenerationRecord& record);

}  // namespace sailor
