// Traces that give the number of nodes or GPUs, or the price, at points in time. trace_parser.h describes the formats.
#pragma once

#include <string>

#include "planner/replay/trace.h"

namespace sailor {

Result<Trace> counts_at_gaps(const std::string& text);
Result<Trace> samples_of_gpus(const std::string& text);
Result<Trace> samples_of_csv(const std::string& text);
Result<std::vector<PriceChange>> samples_of_prices(const std::string& text);

}  // namespace sailor
