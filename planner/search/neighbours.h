// Moves: the drafts one step away from a draft. What local search goes through.
#pragma once

#include "planner/search/seeds.h"

namespace sailor {

void visit_neighbours(const Draft& draft, int stage, const World& world, PlanSpace space, const Visit& visit);

}  // namespace sailor
