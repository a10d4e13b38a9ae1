#include "operator/reconcile/decide/quarantine.h"

#include <algorithm>
#include <chrono>

namespace sailor {

bool is_quarantined(const Observation& observation, const NodeView& node) {
  if (!observation.record) return false;
  return std::ranges::any_of(observation.record->quarantined_nodes, [&](const QuarantinedNode& quarantined) {
    return quarantined.node_uid == node.uid && is_in_force(quarantined, node, observation.now);
  });
}

// A kubelet that has nothing new to say writes its heartbeat into its Node every five minutes only. But Kubernetes
// takes a node for not ready once its lease is 50 s old: a node that is ready after that time is well.
bool is_in_force(const QuarantinedNode& quarantined, const NodeView& node, Time now) {
  return (node.heartbeat <= quarantined.since && now < trusted_again_at(quarantined)) || now < quarantined.until;
}

bool is_remembered(const QuarantinedNode& quarantined, Time now) {
  return now < quarantined.until + quarantined.duration;
}

Time trusted_again_at(const QuarantinedNode& quarantined) { return quarantined.since + std::chrono::seconds(60); }

}  // namespace sailor
