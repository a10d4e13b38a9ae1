#include "operator/reconcile/decide/quarantine.h"

#include <algorithm>
#include <chrono>

namespace sailor {
namespace {

// Returns when the quarantine for an unresponsive pod ends even without a newer heartbeat.
Time trusted_again_at(const QuarantinedNode& quarantined) { return quarantined.since + std::chrono::seconds(60); }

// A kubelet updates the heartbeat of an unchanged Node only every five minutes, so waiting for it would take too long.
// Kubernetes marks a node as not ready once its lease is 50 s old, so a node that is ready after 60 s is healthy.
bool is_in_quarantine(const QuarantinedNode& quarantined, const NodeView& node, Time now) {
  const bool has_new_heartbeat = node.heartbeat > quarantined.since;
  return (!has_new_heartbeat && now < trusted_again_at(quarantined)) || now < quarantined.until;
}

// Returns a predicate of entries that the node has because its pod did not answer.
auto is_unanswering(const std::string& node_uid) {
  return [&node_uid](const QuarantinedNode& quarantined) {
    return quarantined.node_uid == node_uid && quarantined.since != Time();
  };
}

}  // namespace

bool is_quarantined(const Observation& observation, const NodeView& node) {
  if (!observation.record) return false;
  return std::ranges::any_of(observation.record->quarantined_nodes, [&](const QuarantinedNode& quarantined) {
    return quarantined.node_uid == node.uid && is_in_quarantine(quarantined, node, observation.now);
  });
}

std::optional<Time> unanswering_since(const GenerationRecord& record, const std::string& node_uid) {
  const auto found = std::ranges::find_if(record.quarantined_nodes, is_unanswering(node_uid));
  return found == record.quarantined_nodes.end() ? std::nullopt : std::optional(found->since);
}

void end_unanswering(GenerationRecord& record, const std::string& node_uid) {
  std::erase_if(record.quarantined_nodes, is_unanswering(node_uid));
}

bool is_remembered(const QuarantinedNode& quarantined, Time now) {
  return now < quarantined.until + quarantined.duration;
}

void quarantine(GenerationRecord& record, const std::vector<QuarantinedNode>& nodes) {
  for (const QuarantinedNode& node : nodes) {
    if (!node.node_uid.empty()) record.quarantined_nodes.push_back(node);
  }
}

std::vector<QuarantinedNode> without_expired(const std::vector<QuarantinedNode>& nodes,
                                             const Observation& observation) {
  std::vector<QuarantinedNode> kept = nodes;
  std::erase_if(kept, [&](const QuarantinedNode& quarantined) {
    return std::ranges::none_of(observation.cluster->nodes, [&](const NodeView& node) {
      const bool counts =
          is_in_quarantine(quarantined, node, observation.now) || is_remembered(quarantined, observation.now);
      return node.uid == quarantined.node_uid && counts;
    });
  });
  return kept;
}

PolicyResult requeue_at_end_of_quarantine(const Observation& observation) {
  PolicyResult result;
  if (!observation.record) return result;
  for (const QuarantinedNode& quarantined : observation.record->quarantined_nodes) {
    const Time end = std::max(quarantined.until, trusted_again_at(quarantined));
    if (end > observation.now) requeue(result, end - observation.now);
  }
  return result;
}

}  // namespace sailor
