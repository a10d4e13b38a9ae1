// Writes a simulated step as a trace in Chrome's format, which Perfetto also reads.
#pragma once

#include <nlohmann/json.hpp>

#include "simulator/step_timing.h"

namespace sailor::cli {

// Each stage is a process and each replica is a thread. Messages, gradient sync and updates have separate tracks.
nlohmann::json trace_json(const StepTiming& timing, const Plan& plan);

}  // namespace sailor::cli
