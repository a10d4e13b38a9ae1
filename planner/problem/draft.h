// Draft: a plan that does not say yet how many microbatches each replica processes. It says only which replicas work on
// which layers. partitioned() makes it a complete plan.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "planner/problem/grouped_plan.h"
#include "planner/problem/planning_problem.h"

namespace sailor {

struct Draft {
  int microbatch_size = 1;
  Techniques techniques;
  std::vector<GroupedStage> stages;  // every group's `microbatches` is 0
  friend auto operator<=>(const Draft&, const Draft&) = default;
};

// Describes `count` equal replicas for a stage of a draft. With a negative count, GroupedStage::add() removes replicas.
inline ReplicaGroup draft_replicas(int pool, int tensor_parallel, int count) {
  return {.pool = pool, .tensor_parallel = tensor_parallel, .microbatches = 0, .count = count};
}

// Completes the draft: partitions the microbatches of a step among the replicas of every stage. In the paper's space
// the shares are even; otherwise all replicas of a stage finish at about the same time. Returns nothing if a stage has
// no replica, if a replica would get no microbatch, or if the draft is outside the space.
std::optional<GroupedPlan> partitioned(const Draft& draft, const PlanningProblem& problem, PlanSpace space);

// Returns a lower bound, in seconds, on the iteration of every plan that this draft can become. For each stage, the
// bound adds the path of a microbatch through the earlier stages and back to the time that the replicas of the stage
// need for all microbatches if the work is divided perfectly. The result is the largest of these sums.
double least_seconds(const Draft& draft, const PlanningProblem& problem);

// Returns the price of the stages' GPUs.
DollarsPerHour gpu_price(std::span<const GroupedStage> stages, const PlanningProblem& problem);

// Returns the unused GPUs of each pool, in the largest groups that their nodes allow.
std::vector<ReplicaGroup> unused_groups(const Draft& draft, const PlanningProblem& problem);

// Returns how many microbatches the stage would process in a second if it had one layer in the middle of the model.
double speed_of(const GroupedStage& stage, const Draft& draft, const PlanningProblem& problem);

// Drops the numbers of microbatches from the plan.
Draft draft_of(const GroupedPlan& plan);

// Splits the layers as the paper does: as evenly as possible. If the division leaves a remainder, the first stages get
// one layer more.
std::vector<LayerRange> even_layers(int layers, int stages);

}  // namespace sailor
