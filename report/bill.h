// The bill: GPUs and traffic, per iteration and hour and for the whole job.
#pragma once

#include "report/markup.h"
#include "report/plan_view.h"

namespace sailor::report {

Element bill(const PlanView& view);

}  // namespace sailor::report
