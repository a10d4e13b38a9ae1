// Results for programs as JSON, which the documentation describes, and as YAML with the same content.
#pragma once

#include <iosfwd>
#include <string>

#include <nlohmann/json.hpp>

#include "cli/options.h"
#include "core/model/execution_model.h"
#include "planner/planner.h"

namespace sailor::cli {

nlohmann::json planned_json(const PlannedJob& planned, const EstimateBasis& basis);
nlohmann::json simulated_json(const Plan& plan, const Estimate& estimate, const EstimateBasis& basis);

std::string as_yaml(const nlohmann::json& json);
// Prints YAML if that is the format, otherwise JSON.
void print_json(const nlohmann::json& json, Format format, std::ostream& out);

}  // namespace sailor::cli
