// The hash that names a plan.
#pragma once

#include <string>

#include "core/model/plan.h"

namespace sailor {

// 16 hexadecimal digits; equal plans have equal hashes on every machine.
std::string plan_hash(const Plan& plan);

}  // namespace sailor
