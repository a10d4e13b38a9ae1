// GroupedPlan: a plan with equal replicas counted instead of listed, and pools by index. What the search works on: its
// size does not grow with the number of GPUs.
#pragma once

#include <vector>

#include "core/model/cluster_state.h"
#include "core/model/plan.h"

namespace sailor {

// `count` replicas that are alike.
struct ReplicaGroup {
  int pool = 0;  // index into ClusterState::pools
  int tensor_parallel = 1;
  int microbatches = 0;  // of a step, that go through each of them
  int count = 0;
  friend auto operator<=>(const ReplicaGroup&, const ReplicaGroup&) = default;

  [[nodiscard]] int gpus() const { return tensor_parallel * count; }
};

struct GroupedStage {
  int first_layer = 0;
  int last_layer = 0;
  std::vector<ReplicaGroup> groups;  // ascending, no two that differ in nothing but count
  friend auto operator<=>(const GroupedStage&, const GroupedStage&) = default;

  [[nodiscard]] int replicas() const;
};

struct GroupedPlan {
  int microbatch_size = 1;
  int microbatches = 0;  // of a step
  std::vector<GroupedStage> stages;
  bool activation_checkpointing = false;  // as in Plan
  bool sharded_optimizer = false;
  friend auto operator<=>(const GroupedPlan&, const GroupedPlan&) = default;

  [[nodiscard]] int gpus() const;
};

// kNotFound if a replica's pool is not in the cluster.
Result<GroupedPlan> grouped(const Plan& plan, const ClusterState& cluster);
Plan expanded(const GroupedPlan& plan, const JobSpec& job, const ClusterState& cluster);

// Sorts the groups and adds up equal ones.
void normalize(GroupedStage& stage);

// Whether every replica of the plan does as many microbatches.
bool has_equal_shares(const GroupedPlan& plan);

// GPUs of each pool, by index.
std::vector<int> gpus_of_pools(const GroupedPlan& plan, std::size_t pools);

}  // namespace sailor
