// A map of the zones that a plan uses and of the traffic between them in an iteration.
#pragma once

#include "report/markup.h"
#include "report/plan_view.h"

namespace sailor::report {

Element zone_map(const PlanView& view);

}  // namespace sailor::report
