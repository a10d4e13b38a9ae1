// A Gantt chart of a simulated step: the operations of every replica over time.
#pragma once

#include "report/markup.h"
#include "report/plan_view.h"

namespace sailor::report {

// Draws the whole step. If single passes are too short to be visible, it also draws the start and the end of the step.
Element gantt(const PlanView& view);

}  // namespace sailor::report
