// The rule that decides whether a running job moves to another plan.
#pragma once

#include "planner/problem/plan_options.h"

namespace sailor {

// Both values are times, or both are costs, of an iteration. A job moves only if the value falls by more than the
// fraction kWorthwhileGain.
constexpr bool is_worth_moving(double present, double other) { return other < present * (1 - kWorthwhileGain); }

}  // namespace sailor
