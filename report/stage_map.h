// A plan as a table of stages over zones: what computes which layers where.
#pragma once

#include "core/model/plan.h"
#include "report/markup.h"

namespace sailor::report {

// A row for each run of equal stages, a column for each zone (for each region if there are many zones), and in the
// cells the replicas, in a colour for each accelerator. Needs no estimate.
Element stage_map(const Plan& plan);

}  // namespace sailor::report
