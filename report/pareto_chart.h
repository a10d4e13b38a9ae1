// A chart of plans by throughput and cost per iteration, with the chosen plan, the job's limits and the bound.
#pragma once

#include "report/compared_plans.h"
#include "report/markup.h"

namespace sailor::report {

Element pareto_chart(const JobSpec& job, const std::vector<ComparedPlan>& plans, double bound_throughput);

}  // namespace sailor::report
