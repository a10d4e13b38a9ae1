// What follows from a disruption of the generation that trains.
#pragma once

#include <optional>

#include "operator/reconcile/decide/policy.h"

namespace sailor {

// Applies to pods or nodes that are lost or about to be, and to broken connections. The job continues at once with the
// pods that are left; if they are not enough, with whatever GPUs can be had. If there are none, its state is saved
// while that is possible.
std::optional<PolicyResult> respond_to_disruption(const Observation& observation);

}  // namespace sailor
