// Finds broken paths: pairs of pods that both answer the operator but cannot reach each other.
#pragma once

#include <string>
#include <vector>

#include "operator/model/observation.h"

namespace sailor {

struct UnreachablePod {
  std::string pod;
  std::string uid;
  std::string message;   // says which pods it cannot reach
  QuarantinedNode node;  // the quarantine of the pod's node
};

// Returns a small set of pods such that all other pods of the generation can reach each other. Repeatedly chooses the
// pod with the most broken paths. Of several such pods, it prefers one that leaves anyway, then the one that was
// created last, then the one with the fewest GPUs. Ignores pods that do not answer the operator; find_disruption()
// treats those as unresponsive.
std::vector<UnreachablePod> pods_to_leave_out(const Observation& observation, const Generation& generation);

}  // namespace sailor
