// Checks a manifest's fields against the schema of its kind: what the API server checks at apply time, offline.
#pragma once

#include <vector>

#include "core/manifest/source.h"

namespace sailor {

// Unknown fields, wrong types, values against a rule and missing required fields, each as "spec.field: what is wrong
// and what it may be". A kind that is none of ours gives one error.
std::vector<Error> check_fields(const Json& manifest);

}  // namespace sailor
