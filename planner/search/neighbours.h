// Neighbours: the drafts that local search tries next, one change away from a draft.
#pragma once

#include "planner/search/seeds.h"

namespace sailor {

// Visits every draft that results from one change at this stage: another boundary, tensor-parallel size or pool;
// replicas added, removed, or exchanged with other stages; the stage split or merged. At stage 0, also other microbatch
// sizes. Drafts of the paper's space keep equal numbers of replicas in all stages.
void visit_neighbours(const Draft& draft, int stage, const PlanningProblem& problem, PlanSpace space,
                      const VisitDraft& visit);

}  // namespace sailor
