// Plans and estimates as JSON, with the names of docs and manifests (contracts: `sailor plan -o json`).
#pragma once

#include <nlohmann/json.hpp>

#include "core/model/estimate.h"
#include "core/model/plan.h"

namespace sailor {

using Json = nlohmann::json;

Json to_json(const Plan& plan);
// Replicas that are alike and follow each other are written once, with their `count`.
Json to_compact_json(const Plan& plan);
// Of either kind. Names the field that is missing or of the wrong type; unknown fields are ignored. Not yet checked
// against a job.
Result<Plan> plan_from_json(const Json& json);

Json to_json(const Estimate& estimate);

}  // namespace sailor
