// The results of `sailor replay` as JSON and as text.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "core/model/job_spec.h"
#include "report/replay_results.h"

namespace sailor::cli {

// One policy: all figures and periods. Several: the figures of each, under "policies".
nlohmann::json replay_json(const JobSpec& job, const report::ReplayResults& results);
std::string replay_text(const JobSpec& job, const report::ReplayResults& results);

}  // namespace sailor::cli
