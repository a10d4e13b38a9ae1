// The HTML page of a replay: the work that the job completed, where its time went, and its GPUs over time. A page of
// several policies compares them.
#pragma once

#include <string>

#include "core/model/job_spec.h"
#include "report/replay_results.h"

namespace sailor::report {

std::string replay_page(const JobSpec& job, const ReplayResults& results);

}  // namespace sailor::report
