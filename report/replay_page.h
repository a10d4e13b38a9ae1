// The HTML page of a replay: the work that the job completed, and its GPUs and throughput over time.
#pragma once

#include <string>

#include "planner/replay/replay.h"

namespace sailor::report {

std::string replay_page(const JobSpec& job, const ReplayReport& report, ReplayPolicy policy);

}  // namespace sailor::report
