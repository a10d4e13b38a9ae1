// Tables of the costs of GPUs and traffic, per iteration, per hour and for the whole job.
#pragma once

#include "report/markup.h"
#include "report/plan_view.h"

namespace sailor::report {

Element cost_tables(const PlanView& view);

}  // namespace sailor::report
