// Suspects: nodes that are left alone for a while, and for how long.
#pragma once

#include "operator/model/observation.h"

namespace sailor {

bool is_suspect(const Observation& seen, const NodeView& node);
bool is_suspected(const Suspect& suspect, const NodeView& node, Time now);
Time trusted_from(const Suspect& suspect);  // at the latest, if the node is ready then
// A node that was left alone for a path is known for as long again: cut off once more, it is left alone for longer.
bool is_remembered(const Suspect& suspect, Time now);

}  // namespace sailor
