// Paths: pods of a generation that answer the operator, and not each other.
#pragma once

#include "operator/reconcile/decide/disruption.h"

namespace sailor {

// The trouble with few pods, without which all others reach each other: nothing if all do. Of two that do not, it is
// the one that leaves anyway, or came later, or has fewer GPUs. Who gives the operator no answer either is silent,
// which is another trouble.
std::optional<Trouble> find_cut_paths(const Observation& seen, const Generation& generation);

}  // namespace sailor
