// Neighbours: the drafts that differ from a given draft by one change. Local search tries them next.
#pragma once

#include "planner/search/seeds.h"

namespace sailor {

// Visits every draft that results from one of these changes at this stage:
// * The boundary to the next stage moves by one or two layers.
// * Replicas change their tensor-parallel size or their pool.
// * Replicas are added or removed, exchanged with another stage, or moved here from another stage.
// * The stage is split, or merged with the next one.
// At stage 0, it also visits the draft with each other microbatch size. In the paper's space, all stages keep equal
// numbers of replicas, so only the changes that preserve this are visited; at stage 0, also the removal of one replica
// from every stage.
// The drafts may need more GPUs than there are; the caller checks this.
void visit_neighbours(const Draft& draft, int stage, const PlanningProblem& problem, PlanSpace space,
                      const VisitDraft& visit);

}  // namespace sailor
