// Compares the simulated step with the formula of Sailor's paper and explains the difference.
#pragma once

#include "report/markup.h"
#include "report/plan_view.h"

namespace sailor::report {

Element paper_comparison(const PlanView& view);

}  // namespace sailor::report
