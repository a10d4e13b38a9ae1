// Seeds: the drafts from which a search starts.
#pragma once

#include <functional>
#include <vector>

#include "planner/problem/draft.h"

namespace sailor {

using VisitDraft = std::function<void(const Draft&)>;

// A lower bound on all even drafts with this microbatch size and number of stages: they take at least this long, on
// GPUs of at least this price.
struct EvenSeedBound {
  int microbatch_size = 1;
  int stages = 1;
  double seconds = 0;
  DollarsPerHour price;
};
using IsPruned = std::function<bool(const EvenSeedBound&)>;

// Visits the drafts of the paper's shape: layers split evenly, and equal numbers of replicas in all stages. Tries every
// microbatch size, number of stages and number of replicas, over every order of pools (pool_orders.h). Groups have the
// smallest tensor-parallel size that holds their layers, or a given larger one. Skips what `is_pruned` rejects.
void visit_even_seeds(const PlanningProblem& problem, const MemorySavings& savings, const IsPruned& is_pruned,
                      const VisitDraft& visit);

// Visits drafts that use every GPU of an order of pools. Their stages have about equal speeds, and as many layers as
// their speed allows.
void visit_uneven_seeds(const PlanningProblem& problem, const MemorySavings& savings, const VisitDraft& visit);

}  // namespace sailor
