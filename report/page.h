// Pages: one self-contained HTML document each, without scripts and without anything from elsewhere.
#pragma once

#include <string>

#include "planner/planner.h"
#include "report/plan_view.h"

namespace sailor::report {

// A given plan: what it takes.
std::string simulation_page(const PlanView& view);

// A planned job: what was chosen, from what, how good it is, and what it takes.
// `view` is of the chosen plan, with an estimate that may be more exact than that which the search compared it by.
std::string planning_page(const PlanView& view, const PlannedJob& planned, const PlanOptions& options);

}  // namespace sailor::report
