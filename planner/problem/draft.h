// Draft: an unfinished plan. It says which replicas work on which layers, but not how many microbatches each replica
// processes, which follows from the replicas' speed.
#pragma once

#include <optional>
#include <vector>

#include "planner/problem/grouped_plan.h"
#include "planner/problem/planning_problem.h"

namespace sailor {

struct Draft {
  int microbatch_size = 1;
  MemorySavings savings;
  std::vector<GroupedStage> stages;  // every group's `microbatches` is 0
  friend auto operator<=>(const Draft&, const Draft&) = default;
};

// Equal replicas of a draft's stage. A negative count removes them in GroupedStage::add().
inline ReplicaGroup draft_replicas(int pool, int tensor_parallel, int count) {
  return {.pool = pool, .tensor_parallel = tensor_parallel, .microbatches = 0, .count = count};
}

// Partitions the microbatches of a step among the replicas of every stage: evenly in the paper's space, else so that
// all replicas of a stage finish at about the same time. Nothing if a stage has no replica, if a replica would get no
// microbatch, or if the draft is outside the space.
std::optional<GroupedPlan> partitioned(const Draft& draft, const PlanningProblem& problem, PlanSpace space);

// A lower bound in seconds on the iteration of every plan with these stages: the busiest replica's work, and the path
// of a microbatch through the stages before it and back.
double least_seconds(const Draft& draft, const PlanningProblem& problem);

// What the draft's GPUs cost per hour.
DollarsPerHour gpu_price(const Draft& draft, const PlanningProblem& problem);

// The plan without its partition of the microbatches.
Draft draft_of(const GroupedPlan& plan);

// The paper's split of the layers: as even as possible; the first stages get one layer more where it does not divide.
std::vector<LayerRange> even_layers(int layers, int stages);

}  // namespace sailor
