// The policy that responds to a disruption of the newest generation.
#pragma once

#include <optional>

#include "operator/reconcile/decide/policy.h"

namespace sailor {

// Applies if find_disruption() finds a disruption. After a broken connection, the same pods form a new generation.
// After a loss, the job continues with the remaining pods. If no plan fits them, it continues with any available GPUs,
// and if no plan fits those, it saves its state and waits for capacity. Without elasticity Live, it restarts with new
// pods.
std::optional<PolicyResult> respond_to_disruption(const Observation& observation);

}  // namespace sailor
