// Reads traces of availability and of prices.
#pragma once

#include <string>

#include "planner/replay/trace.h"

namespace sailor {

// Reads four formats:
// - {"metadata": {"gap_seconds": 300}, "data": [nodes, ...]} (SkyPilot's spot traces)
// - [{"Time": seconds, "GPUs": count}, ...]
// - one line [milliseconds, verb, {"nodes": [...], "duration": ms}] per event (Parcae's traces), with the verbs add,
//   remove, no-op and migration
// - CSV with the header `seconds,nodes` or `seconds,gpus`
// The last sample of the second and the fourth format lasts as long as the one before it. An error begins with line and
// column.
Result<Trace> parse_trace(const std::string& text);

// Reads [{"Time": seconds, "Price": US dollars per GPU and hour}, ...], ascending in time.
Result<std::vector<PriceChange>> parse_prices(const std::string& text);

}  // namespace sailor
