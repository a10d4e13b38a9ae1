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
// As plan_from_json, for a plan that a person may have written: a field that plans do not have is an error, because it
// is usually misspelled. A plan that another version of Sailor sent may have fields that this version lacks.
Result<Plan> plan_of_known_fields(const Json& json);

Json to_json(const Estimate& estimate);

}  // namespace sailor
