// NodeWatch: what a job of a replay has seen of the nodes so far: the histories of its pools, and what they say.
#pragma once

#include <vector>

#include "planner/replan/outlook.h"
#include "planner/replay/timeline.h"

namespace sailor {

class NodeWatch {
 public:
  // `whole` is the cluster with all its nodes. The nodes of the timeline must outlive this object.
  NodeWatch(const ClusterState& whole, const std::vector<NodeLifetime>& nodes);

  // Lets time pass until `now`, and records which of the usable nodes have joined and which have been lost since the
  // call before.
  void observe(const std::vector<int>& usable, Seconds now);

  // Records that the plan has lost nodes.
  void add_drop_of_plan(Seconds now, bool is_saved) { outcomes_.add(now, is_saved); }

  // How often per hour a plan with this number of GPUs of each pool loses nodes whose state is not saved.
  [[nodiscard]] double failures_per_hour(const std::vector<int>& gpus_of_pools) const;
  // The expected time until such a plan loses nodes, or nodes join.
  [[nodiscard]] Seconds time_until_change(const std::vector<int>& gpus_of_pools) const {
    return sailor::time_until_change(pools_, gpus_of_pools);
  }
  // NodeHistory::drops, summed over the pools.
  [[nodiscard]] double drops() const { return drops_of(pools_); }

 private:
  const std::vector<NodeLifetime>& nodes_;
  std::vector<PoolOutlook> pools_;
  DropOutcomes outcomes_;
  std::vector<int> usable_;  // ascending
  bool has_begun_ = false;   // the nodes of the first call have not joined: they existed before
};

}  // namespace sailor
