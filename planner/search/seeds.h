// Seeds: the drafts from which the local search starts.
#pragma once

#include <functional>
#include <vector>

#include "planner/problem/draft.h"
#include "planner/search/tensor_parallel_sizes.h"

namespace sailor {

using VisitDraft = std::function<void(const Draft&)>;

// A lower bound on the even drafts with this microbatch size, this number of stages and one number of replicas: each of
// them takes at least `seconds` per iteration, on GPUs that cost at least `price`.
struct EvenSeedBound {
  int microbatch_size = 1;
  int stages = 1;
  TensorParallelSizes sizes;  // unless memory needs larger ones
  double seconds = 0;
  DollarsPerHour price;
};

// Which drafts the search does not need.
enum class Pruning {
  kNone,
  kThese,     // those of the bound
  kNoFaster,  // those of the bound and, whatever they cost, all that take as long or longer
};
using PruneSeeds = std::function<Pruning(const EvenSeedBound&)>;

// Visits drafts of the paper's shape: every stage has the same number of layers (give or take one) and the same number
// of replicas. Tries every microbatch size and number of stages, and every number of replicas that changes the share of
// the busiest replica, over every order of pools (pool_orders.h). The groups of a stage use the smallest
// tensor-parallel size that holds the stage's layers; further drafts use larger sizes. Skips drafts that `prune`
// rejects.
void visit_even_seeds(const PlanningProblem& problem, const Techniques& techniques, const PruneSeeds& prune,
                      const VisitDraft& visit);

// Visits drafts that use all GPUs of an order of pools, up to the maxGpus of the job. Stages have about equal speeds,
// and the number of layers of a stage is proportional to its speed. Groups that cannot hold the layers of their stage
// stay unused.
void visit_uneven_seeds(const PlanningProblem& problem, const Techniques& techniques, const VisitDraft& visit);

}  // namespace sailor
