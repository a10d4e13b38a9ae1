// The map: zones that a plan uses, and what they send each other in an iteration.
#pragma once

#include "report/markup.h"
#include "report/plan_view.h"

namespace sailor::report {

Element zone_map(const PlanView& view);

}  // namespace sailor::report
