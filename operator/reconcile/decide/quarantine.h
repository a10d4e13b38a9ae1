// Quarantine: nodes that a job leaves alone for a while, because a pod there was unresponsive, did not start, failed,
// or did not reach its peers.
#pragma once

#include <vector>

#include "operator/reconcile/decide/policy.h"

namespace sailor {

bool is_quarantined(const Observation& observation, const NodeView& node);

// A node that was left alone because of a broken path is remembered for as long again. If it is cut off once more in
// that time, it is left alone for longer.
bool is_remembered(const QuarantinedNode& quarantined, Time now);

// Leaves these nodes alone from now on. A node without a UID is gone already.
void quarantine(GenerationRecord& record, const std::vector<QuarantinedNode>& nodes);

// The nodes that are still left alone or remembered. A node that is gone needs no quarantine.
std::vector<QuarantinedNode> without_expired(const std::vector<QuarantinedNode>& nodes, const Observation& observation);

// Requests another look when a node may be used again: no event tells of that moment.
PolicyResult requeue_at_end_of_quarantine(const Observation& observation);

}  // namespace sailor
