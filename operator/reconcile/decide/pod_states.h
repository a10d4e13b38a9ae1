// PodStates: the pods and older generations of a job in the form that the functions of operator/protocol/fencing.h
// take.
#pragma once

#include <chrono>
#include <optional>
#include <vector>

#include "operator/model/observation.h"
#include "operator/protocol/fencing.h"

namespace sailor {

struct PodStates {
  // First the pods of the placement, in its order, then the other pods of the job, then the pods of older generations
  // that are gone. A pod that does not exist is null.
  std::vector<const PodView*> pods;
  std::vector<PodState> states;        // the state of each entry of `pods`
  std::vector<OlderGeneration> older;  // in the order of GenerationRecord::older
};

// Returns whether an agent answers. It counts as unresponsive after two unanswered polls. Null: it was never polled.
AgentContact contact_of(const AgentView* agent);

// Returns after which time the lease of the older generation will have lapsed; 0: it has. Returns nothing as long as it
// may still be renewed: by an operator, or by the checkpoint folder, which no newer generation has claimed.
std::optional<std::chrono::milliseconds> lease_lapses_in(const Observation& observation, const OlderRecord& older);

// Returns whether the operator renews the lease of this generation.
bool is_renewed(const GenerationRecord& record, std::int64_t generation);

PodStates pod_states_of(const Observation& observation, const GenerationRecord& record);

}  // namespace sailor
