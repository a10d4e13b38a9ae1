// HTML pages about plans. Each page is one self-contained document without scripts and external resources.
#pragma once

#include <string>

#include "planner/planner.h"
#include "report/plan_view.h"

namespace sailor::report {

// The page of a given plan and its estimate.
std::string simulation_page(const PlanView& view);

// The page of a planned job: the chosen plan, the other plans, the bound, and the estimate. `view` is the chosen plan
// with an estimate that may be more exact than the fast estimate of the search.
std::string planning_page(const PlanView& view, const PlannedJob& planned, const PlanOptions& options);

}  // namespace sailor::report
