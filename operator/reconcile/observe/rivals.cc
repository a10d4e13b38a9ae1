#include "operator/reconcile/observe/rivals.h"

namespace sailor {

std::vector<Rivals::FreeNode> Rivals::free_nodes(const ClusterView& cluster) {
  std::vector<FreeNode> free;
  for (const NodeView& node : cluster.nodes) {
    const int gpus = node.gpus - node.used_gpus();
    if (gpus > 0 && node.takes_pods()) free.push_back({&node, gpus});
  }
  return free;
}

bool Rivals::is_pending(const Rival& rival, const std::vector<FreeNode>& free, Known& known) {
  if (rival.state != RivalState::kWaits) {
    known.least_free.reset();
    return true;
  }
  int gpus = 0;
  for (const FreeNode& node : free) gpus += rival.demand->may_use(*node.node) ? node.gpus : 0;
  known.least_free = std::min(known.least_free.value_or(gpus), gpus);
  return gpus > *known.least_free;
}

std::vector<Rival> Rivals::rivals_of(const std::string& job_uid, const FleetSnapshot& fleet, MonotonicTime now) {
  const std::lock_guard lock(mutex_);
  std::optional<std::vector<FreeNode>> free;
  std::map<std::string, Known> known;
  std::vector<Rival> rivals;
  rivals.reserve(fleet.contenders.size());
  for (const auto& contender : fleet.contenders) {
    Rival rival = contender->rival;
    if (rival.state != RivalState::kHolds) {
      Known& its = known[rival.uid] = known_[rival.uid];
      if (!free) free = free_nodes(*fleet.cluster);
      rival.is_pending = is_pending(rival, *free, its);
      its.pending_since = rival.is_pending ? std::optional(its.pending_since.value_or(now)) : std::nullopt;
      if (its.pending_since) rival.pending_for = now - *its.pending_since;
    }
    if (rival.uid != job_uid) rivals.push_back(std::move(rival));
  }
  known_ = std::move(known);
  return rivals;
}

}  // namespace sailor
