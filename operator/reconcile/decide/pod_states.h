// PodStates: the job's pods and older generations in the form that the protocol's functions take
// (operator/protocol/fencing.h).
#pragma once

#include <vector>

#include "operator/model/observation.h"
#include "operator/protocol/fencing.h"

namespace sailor {

struct PodStates {
  // The pods of the placement in its order, then the job's other pods, then pods of older generations that are gone.
  // A null pointer stands for a pod that does not exist.
  std::vector<const PodView*> pods;
  std::vector<PodState> states;        // of each pod
  std::vector<OlderGeneration> older;  // as in the record
};

// Whether the operator renews the lease of this generation.
bool is_renewed(const GenerationRecord& record, std::int64_t generation);

PodStates pod_states_of(const Observation& observation, const GenerationRecord& record);

}  // namespace sailor
