// run_with_limits(): runs a search for a job that may limit the time or the cost of an iteration. Local search does
// badly near such a limit: a step in the right direction often breaks it. But of all plans with the same price per
// hour, the fastest is the cheapest as well. So if the limit matters, further searches divide the range of prices per
// hour and look for the fastest plan below each of them, without the limit. The price is known before a plan is
// estimated, so it misleads no step. In the same way the search finds faster plans that cost nearly as little as the
// cheapest.
#pragma once

#include <span>

#include "planner/search/search.h"

namespace sailor {

// The other arguments are those of Search::run().
void run_with_limits(Search& search, PlanSpace space, std::span<const GroupTimeTable> tables, Search* nearby);

}  // namespace sailor
