// Traces of events that name nodes (Parcae's traces). trace_parser.h describes the format.
#pragma once

#include <string>

#include "planner/replay/trace.h"

namespace sailor {

Result<Trace> events_of_nodes(const std::string& text);

}  // namespace sailor
