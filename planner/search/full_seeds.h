// Full seeds: drafts with as few stages as memory allows. Where a model only just fits, no even draft may fit.
#pragma once

#include "planner/search/seeds.h"

namespace sailor {

// Visits drafts whose stages have as many layers as fit in the memory of their groups, from the first stage to the
// last, for every microbatch size, order of pools (pool_orders.h) and tensor-parallel size. All stages of a draft have
// the same number of replicas: one, as many as there are GPUs for, or half as many. Skips drafts of a single stage,
// which even seeds cover.
void visit_full_seeds(const PlanningProblem& problem, const Techniques& techniques, const VisitDraft& visit);

}  // namespace sailor
