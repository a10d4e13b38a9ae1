// When a running job is moved to another plan.
#pragma once

#include "planner/problem/plan_options.h"

namespace sailor {

// Both are times or costs of an iteration. A job is moved only for a gain of at least kWorthwhileGain.
constexpr bool is_worth_moving(double present, double other) { return other < present * (1 - kWorthwhileGain); }

}  // namespace sailor
