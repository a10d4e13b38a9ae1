// Which requests of its job a given plan does not meet, although it may fit: the planner would not choose it.
#pragma once

#include <string>
#include <vector>

#include "core/model/estimate.h"
#include "core/model/plan.h"

namespace sailor::cli {

// Returns a note for each of them.
std::vector<std::string> unmet_requests(const JobSpec& job, const Plan& plan, const Estimate& estimate);

}  // namespace sailor::cli
