#include "operator/reconcile/decide/quarantine.h"

#include <algorithm>
#include <chrono>

namespace sailor {

bool is_suspect(const Observation& seen, const NodeView& node) {
  if (!seen.record) return false;
  return std::ranges::any_of(seen.record->suspects, [&](const Suspect& suspect) {
    return suspect.node_uid == node.uid && is_suspected(suspect, node, seen.now);
  });
}

// A kubelet that has nothing new to say writes its heartbeat into its Node every five minutes only. But Kubernetes
// takes a node for not ready once its lease is 50 s old: a node that is ready after that time is well.
bool is_suspected(const Suspect& suspect, const NodeView& node, Time now) {
  return (node.heartbeat <= suspect.since && now < trusted_from(suspect)) || now < suspect.until;
}

bool is_remembered(const Suspect& suspect, Time now) { return now < suspect.until + suspect.pause; }

Time trusted_from(const Suspect& suspect) { return suspect.since + std::chrono::seconds(60); }

}  // namespace sailor
