// The memory of every stage as stacked bars, with the limit of its GPU.
#pragma once

#include "report/markup.h"
#include "report/plan_view.h"

namespace sailor::report {

Element memory_bars(const PlanView& view);

}  // namespace sailor::report
