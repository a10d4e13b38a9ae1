// Results for programs: JSON as docs describe it, and the same as YAML.
#pragma once

#include <iosfwd>
#include <string>

#include <nlohmann/json.hpp>

#include "cli/options.h"
#include "planner/planner.h"

namespace sailor::cli {

nlohmann::json planned_json(const PlannedJob& planned);
nlohmann::json simulated_json(const Plan& plan, const Estimate& estimate);

std::string as_yaml(const nlohmann::json& json);
// As YAML where that was asked for, else as JSON.
void print_json(const nlohmann::json& json, Format format, std::ostream& out);

}  // namespace sailor::cli
