// The pipeline as a Gantt chart: what every replica does when in a step, played operation by operation.
#pragma once

#include "report/markup.h"
#include "report/plan_view.h"

namespace sailor::report {

// The whole step and, where its passes are too short to be told apart there, its beginning and its end.
Element gantt(const PlanView& view);

}  // namespace sailor::report
