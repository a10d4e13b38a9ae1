// Relaxation seeds: drafts made from solutions of a relaxed problem. In the relaxed problem, GPUs have prices instead
// of a limited number, and a stage may have a fractional number of replicas (relaxation/split_solver.h). This file
// rounds such solutions to whole replicas.
#pragma once

#include "planner/relaxation/gpu_prices.h"
#include "planner/search/seeds.h"

namespace sailor {

// Visits at most one draft for each combination of microbatch size, region, and limit on the time after a stage's
// passes (the gradient sum and the update). Each draft comes from the split with the shortest passes that the GPUs of
// the region can make. Skips a combination if no split completes its passes early enough to be faster than `seconds`
// per iteration. Uses only the tables that have the activation checkpointing of `techniques`.
void visit_relaxation_seeds(const PlanningProblem& problem, const Techniques& techniques,
                            std::span<const GroupTimeTable> tables, double seconds, const VisitDraft& visit);

}  // namespace sailor
