// The policy for a job that starts on new nodes of which only some have come.
#pragma once

#include <optional>

#include "operator/reconcile/decide/policy.h"

namespace sailor {

// Applies if a generation that is the job's first, or that follows a stop, waits for new nodes and some are late. It
// starts on the nodes that exist, if a plan fits them, and asks for the others again when it trains. A job that does
// not grow while it trains, because its elasticity is not Live, waits for all.
std::optional<PolicyResult> start_on_nodes_that_came(const Observation& observation);

}  // namespace sailor
