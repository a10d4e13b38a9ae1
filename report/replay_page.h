// A replay as a page: what the job got done, and its GPUs and speed over time.
#pragma once

#include <string>

#include "planner/replay/replay.h"

namespace sailor::report {

std::string replay_page(const JobSpec& job, const ReplayReport& report, ReplayPolicy policy);

}  // namespace sailor::report
