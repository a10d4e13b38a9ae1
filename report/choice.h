// The choice: what was asked for, what was chosen from what, and how much better a plan could be at most.
#pragma once

#include "report/markup.h"
#include "report/offers.h"
#include "report/plan_view.h"

namespace sailor::report {

Element choice(const PlanView& view, const PlannedJob& planned, const PlanOptions& options);

}  // namespace sailor::report
