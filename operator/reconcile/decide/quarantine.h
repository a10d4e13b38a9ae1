// Quarantine: nodes that a job does not use for a while, because a pod on them was unresponsive, did not start, failed,
// or could not reach its peers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "operator/reconcile/decide/policy.h"

namespace sailor {

// Returns whether the job must not use the node now.
bool is_quarantined(const Observation& observation, const NodeView& node);

// Returns whether the entry of a broken path still matters. It matters during the quarantine and for the same time
// after it: if a path to the node breaks again within that time, the next quarantine is twice as long.
bool is_remembered(const QuarantinedNode& quarantined, Time now);

// Returns since when the node is in quarantine because its pod did not answer. Nothing: it is not.
std::optional<Time> unanswering_since(const GenerationRecord& record, const std::string& node_uid);
// Ends that quarantine.
void end_unanswering(GenerationRecord& record, const std::string& node_uid);

// Adds the nodes to the quarantine of the record. Skips nodes without a UID, which are gone.
void quarantine(GenerationRecord& record, const std::vector<QuarantinedNode>& nodes);

// Returns the entries that are still in quarantine or remembered. Drops the entries of nodes that are gone.
std::vector<QuarantinedNode> without_expired(const std::vector<QuarantinedNode>& nodes, const Observation& observation);

// Requests another decision at the end of a quarantine, because no watch reports that moment.
PolicyResult requeue_at_end_of_quarantine(const Observation& observation);

}  // namespace sailor
