// Broken paths: pods of a generation that answer the operator, but do not reach each other.
#pragma once

#include <string>
#include <vector>

#include "operator/model/observation.h"

namespace sailor {

struct UnreachablePod {
  std::string pod;
  std::string uid;
  std::string message;   // which pods it does not reach
  QuarantinedNode node;  // the node of this pod is left alone for a while
};

// Few pods without which all others reach each other; empty if all do. Of two pods that do not reach each other it is
// the one that leaves anyway, or was created later, or has fewer GPUs. A pod that gives the operator no answer either
// is unresponsive, which is another disruption.
std::vector<UnreachablePod> pods_to_leave_out(const Observation& observation, const Generation& generation);

}  // namespace sailor
