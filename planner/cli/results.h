// Results for programs: JSON as docs describe it, and the same as YAML.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "planner/planner.h"

namespace sailor::cli {

nlohmann::json planned_json(const PlannedJob& planned);
nlohmann::json simulated_json(const Plan& plan, const Estimate& estimate);

std::string as_yaml(const nlohmann::json& json);

}  // namespace sailor::cli
