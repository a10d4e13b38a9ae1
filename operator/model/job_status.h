// What a status that was written says.
#pragma once

#include <string_view>

#include "operator/kube/object.h"

namespace sailor {

const kube::Json* find_condition(const kube::Json& status, std::string_view type);  // null: there is none

// Whether a condition is true, and whether the job is complete or has failed.
bool is_true(const kube::Json& status, std::string_view condition);
bool has_ended(const kube::Json& status);

double decimal_at(const kube::Json& object, kube::Path path);  // decimals in a status are texts; 0: there is none

}  // namespace sailor
