// Suspects: nodes that are left alone for a while, and for how long.
#pragma once

#include "operator/model/observation.h"

namespace sailor {

bool is_quarantined(const Observation& observation, const NodeView& node);
bool is_in_force(const QuarantinedNode& quarantined, const NodeView& node, Time now);
Time trusted_again_at(const QuarantinedNode& quarantined);  // at the latest, if the node is ready then
// A node that was left alone for a path is known for as long again: cut off once more, it is left alone for longer.
bool is_remembered(const QuarantinedNode& quarantined, Time now);

}  // namespace sailor
