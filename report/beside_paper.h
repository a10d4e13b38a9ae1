// The step held against the formula of Sailor's paper, and where the difference comes from.
#pragma once

#include "report/markup.h"
#include "report/plan_view.h"

namespace sailor::report {

Element beside_paper(const PlanView& view);

}  // namespace sailor::report
