// Plans and estimates as JSON, as `sailor plan -o json` prints them. The keys are a contract with users.
#pragma once

#include <nlohmann/json.hpp>

#include "core/model/estimate.h"
#include "core/model/plan.h"

namespace sailor {

using Json = nlohmann::json;

Json to_json(const Plan& plan);
// Writes equal replicas that follow each other once, with a `count`.
Json to_compact_json(const Plan& plan);
// Reads either form. Errors name the field that is missing or of the wrong type; unknown fields are ignored. The plan
// is not yet checked against a job (check_well_formed does).
Result<Plan> plan_from_json(const Json& json);

Json to_json(const Estimate& estimate);

}  // namespace sailor
