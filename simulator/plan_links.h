// PlanLinks: the links between the replicas of one plan. A plan does not say which nodes its replicas get. They are
// assumed to be on different nodes, unless everything that the plan uses of a pool fits on one node.
#pragma once

#include <vector>

#include "planner/problem/grouped_plan.h"
#include "simulator/all_reduce.h"
#include "simulator/message_rates.h"
#include "simulator/pipeline_time.h"
#include "simulator/pool_links.h"

namespace sailor {

class PlanLinks {
 public:
  // All arguments must outlive it.
  PlanLinks(const GroupedPlan& plan, const ClusterState& cluster, const PoolLinks& pools);

  [[nodiscard]] bool is_inside_node(int pool, int other) const {
    return pool == other && in_one_node_[static_cast<std::size_t>(pool)] != 0;
  }
  [[nodiscard]] const Link& between(int pool, int other) const {
    return is_inside_node(pool, other) ? pools_.inside_node(pool) : pools_.between(pool, other);
  }
  // The replicas of one group of a stage.
  struct End {
    const GroupedStage& stage;
    const ReplicaGroup& group;
  };
  // Assumes that all replicas of a node send at the same time and share its NIC equally.
  [[nodiscard]] LinkTiming timing(const End& from, const End& to, Bytes message, const MessageRates& rates) const;
  // The ring in which the replicas of a stage sum their gradients.
  [[nodiscard]] Ring ring_of(const GroupedStage& stage) const;

 private:
  [[nodiscard]] int neighbours_of(const End& end) const;

  const ClusterState& cluster_;
  const PoolLinks& pools_;
  std::vector<char> in_one_node_;  // one entry per pool
};

}  // namespace sailor
