// HeldState: which nodes hold which part of a job's state. It says what is left when nodes are lost.
#pragma once

#include <vector>

#include "planner/problem/grouped_plan.h"
#include "planner/replan/group_placement.h"

namespace sailor {

class HeldState {
 public:
  // No node holds anything.
  HeldState() = default;
  // The workers of the plan hold its state. `nodes` are the nodes that `groups` refer to by index. The plan's pools
  // must be in the cluster.
  HeldState(const Plan& plan, const std::vector<PlacedGroup>& groups, const std::vector<int>& nodes,
            const ClusterState& cluster);

  // Removes what is held by nodes that `is_there` denies.
  void keep_only(const std::vector<int>& nodes_there);

  // Whether every part of the state is held by some node.
  [[nodiscard]] bool is_complete() const;
  // The replicas whose nodes are left, in the form from which MigrationCost computes a pause.
  [[nodiscard]] const GroupedPlan& remaining() const { return remaining_; }

 private:
  // A part of the state: all of a stage, or with a sharded optimizer what one replica has of it.
  struct Part {
    std::vector<int> holders;  // each node has all of the part
    std::vector<int> backups;  // together, these nodes have a peer replica of the part
    bool has_backup = false;   // none of them is lost
  };
  struct Held {
    int stage = 0;
    ReplicaGroup replica;
    int node = 0;
  };

  void add_part(const Plan& plan, std::vector<int> holders, const std::vector<int>& all);

  std::vector<Part> parts_;
  std::vector<Held> replicas_;
  GroupedPlan remaining_;
};

}  // namespace sailor
