// Where an iteration's time goes, as one stacked bar.
#pragma once

#include "planner/model/estimate.h"
#include "planner/report/markup.h"

namespace sailor::report {

Element time_bar(const Estimate& estimate);

}  // namespace sailor::report
