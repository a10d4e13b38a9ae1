// PlanLinks: the links between the replicas of one plan. A plan does not say which nodes its replicas get. They are
// assumed to be on different nodes, unless everything that the plan uses of a pool fits on one node. The pools of the
// slow and of the other GPUs of a node count as one if everything that the plan uses of them fits on it.
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
    const int node = node_of_pool_[static_cast<std::size_t>(pool)];
    return node != SharedNodes::kSeveralNodes && node == node_of_pool_[static_cast<std::size_t>(other)];
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
  [[nodiscard]] bool is_in_one_node(const GroupedStage& stage) const;

  const ClusterState& cluster_;
  const PoolLinks& pools_;
  std::vector<int> node_of_pool_;
};

}  // namespace sailor
