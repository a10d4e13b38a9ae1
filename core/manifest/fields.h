// Checks the fields of a manifest against the schema of its kind. These are the checks that the API server does when a
// manifest is applied, without a cluster.
#pragma once

#include <vector>

#include "core/manifest/source.h"

namespace sailor {

// Returns an error for each unknown field, wrong type, value that violates a rule, and missing required field. A
// message has the form "spec.field: problem and remedy". A manifest of an unknown kind gives one error.
std::vector<Error> check_fields(const Json& manifest);

}  // namespace sailor
