// A step as a trace in Chrome's format, which Perfetto opens too.
#pragma once

#include <nlohmann/json.hpp>

#include "simulator/step_timing.h"

namespace sailor::cli {

// A process for each stage, a thread for each replica; messages, gradient sync and updates in tracks of their own.
nlohmann::json trace_json(const StepTiming& timing, const Plan& plan);

}  // namespace sailor::cli
