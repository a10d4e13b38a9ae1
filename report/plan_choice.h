// Why the planner chose this plan: the objective, the other plans, and the bound on how much better a plan could be.
#pragma once

#include "report/compared_plans.h"
#include "report/markup.h"
#include "report/plan_view.h"

namespace sailor::report {

Element plan_choice(const PlanView& view, const PlannedJob& planned, const PlanOptions& options);

}  // namespace sailor::report
