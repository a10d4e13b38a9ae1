// GroupedPlan: a compact form of Plan. It counts equal replicas instead of listing them, and refers to pools by index.
// The search uses it because its size does not grow with the number of GPUs.
#pragma once

#include <compare>
#include <span>
#include <vector>

#include "core/model/cluster_state.h"
#include "core/model/node_packing.h"
#include "core/model/plan.h"
#include "core/model/small_vector.h"
#include "planner/problem/layer_range.h"
#include "planner/problem/techniques.h"

namespace sailor {

// `count` equal replicas of one stage. Each replica is a tensor-parallel group: one or more GPUs of one node that share
// the work on the same layers.
struct ReplicaGroup {
  int pool = 0;  // index into ClusterState::pools
  int tensor_parallel = 1;
  // Microbatches that each replica processes in a step; 0 in a Draft, where they are not decided yet.
  int microbatches = 0;
  int count = 0;
  friend auto operator<=>(const ReplicaGroup&, const ReplicaGroup&) = default;

  [[nodiscard]] int gpus() const { return tensor_parallel * count; }
  // Whether both are the same apart from their counts.
  [[nodiscard]] bool is_like(const ReplicaGroup& other) const {
    return pool == other.pool && tensor_parallel == other.tensor_parallel && microbatches == other.microbatches;
  }
};

// Most stages have few groups. These need no memory of their own, so that a search can copy plans cheaply.
using ReplicaGroups = SmallVector<ReplicaGroup, 4>;

struct GroupedStage {
  LayerRange layers;
  ReplicaGroups groups;  // sorted; no two groups differ only in their counts
  friend std::strong_ordering operator<=>(const GroupedStage&, const GroupedStage&) = default;

  [[nodiscard]] int replicas() const;
  // Adds replicas, or removes them if the group's count is negative. A group without replicas disappears.
  void add(const ReplicaGroup& group);
};

struct GroupedPlan {
  int microbatch_size = 1;
  int microbatches = 0;  // microbatches of a step; each passes through every stage
  std::vector<GroupedStage> stages;
  Techniques techniques;
  friend auto operator<=>(const GroupedPlan&, const GroupedPlan&) = default;

  [[nodiscard]] int gpus() const;
};

Techniques techniques_of(const Plan& plan);

// Converts a plan to and from this form. grouped() returns kNotFound if the cluster does not have the pool of a
// replica.
Result<GroupedPlan> grouped(const Plan& plan, const ClusterState& cluster);
Plan expanded(const GroupedPlan& plan, const JobSpec& job, const ClusterState& cluster);

// Replaces every pool by pools[pool], for a cluster that has the same pools at other places. Empty: keeps them.
void renumber_pools(std::span<GroupedStage> stages, std::span<const int> pools);

// Sorts the groups and merges equal ones.
void normalize(GroupedStage& stage);

// Whether every replica of the plan processes the same number of microbatches.
bool has_equal_shares(const GroupedPlan& plan);

// The GPUs that the plan uses of each pool, by index.
std::vector<int> gpus_of_pools(const GroupedPlan& plan, std::size_t pools);

// The fewest nodes that the plan needs. Nodes whose GPUs belong to pools of several speed grades count in each of them.
int nodes_of(const GroupedPlan& plan, const ClusterState& cluster);

// Returns the groups that the stages have in one pool. A size may occur several times.
std::vector<GroupsOfSize> groups_of_pool(std::span<const GroupedStage> stages, int pool);

// In how many zones the stage has replicas.
int zones_of(const GroupedStage& stage, const ClusterState& cluster);

}  // namespace sailor
