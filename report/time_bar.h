// The parts of an iteration's time as one stacked bar.
#pragma once

#include "core/model/estimate.h"
#include "report/markup.h"

namespace sailor::report {

Element time_bar(const Estimate& estimate);

}  // namespace sailor::report
