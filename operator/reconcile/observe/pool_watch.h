// PoolWatch: follows which nodes of each pool join and which are lost, and keeps the histories of the pools.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "operator/model/cluster_view.h"
#include "operator/model/pool_history.h"

namespace sailor {

// A node is lost once its end is announced, or once it is gone. It is not lost if somebody in the cluster removes it on
// purpose, or if only its pool has changed. Nodes that are lost, or join, within 10 s count as lost or joined at once.
class PoolWatch {
 public:
  // Takes all nodes of the view. A pool that this operator has not watched, or about which it knows less, continues
  // with the history that its GpuPool stores. What happened while no operator watched is unknown: nodes that are
  // missing since then were not lost.
  void observe_all(const ClusterView& view, const std::vector<kube::Object>& gpu_pools, Time now);

  // Takes these nodes of the view; the others have not changed.
  void observe(const ClusterView& view, const std::set<std::string>& names, Time now);

  // Each history ends with the last change of a node of its pool. What is returned never changes.
  [[nodiscard]] std::shared_ptr<const PoolHistories> histories() const { return histories_; }

 private:
  struct WatchedNode {
    std::string uid;
    PoolKey pool;
    bool is_announced = false;  // its end
    bool is_removed_on_purpose = false;
  };
  struct Events {
    int joined = 0;
    int lost = 0;
    int removed = 0;
  };
  using EventsByPool = std::map<PoolKey, Events>;

  static void add_to(NodeHistory& history, const Events& events, Seconds now);
  void take(const ClusterView& view, const std::string& name, EventsByPool& events);
  void apply(const EventsByPool& events, const std::map<PoolKey, NodeHistory>& stored, Time now);
  [[nodiscard]] int count_nodes(const PoolKey& pool) const;

  std::map<std::string, WatchedNode> nodes_;  // by name; those that exist
  std::shared_ptr<const PoolHistories> histories_ = std::make_shared<const PoolHistories>();
};

}  // namespace sailor
