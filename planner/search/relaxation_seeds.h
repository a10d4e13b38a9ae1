// Relaxation seeds: drafts from the relaxed problem, in which GPUs have prices instead of limits. Its cheapest splits
// are rounded to whole replicas.
#pragma once

#include "planner/relaxation/gpu_prices.h"
#include "planner/search/seeds.h"

namespace sailor {

// Visits at most one draft for every microbatch size (the tables with the activation checkpointing of `savings`), every
// region, and several limits on the time after a stage's passes (gradient sum and update). Each draft comes from the
// split with the shortest passes that the region's GPUs could make, if that could be faster than `seconds` per
// iteration.
void visit_relaxation_seeds(const PlanningProblem& problem, const MemorySavings& savings,
                            std::span<const GroupKindTable> tables, double seconds, const VisitDraft& visit);

}  // namespace sailor
