// MissedLimit: a limit of an objective that a plan does not keep.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/model/job_spec.h"

namespace sailor {

// A figure that equals a limit keeps it. Figures that are summed in another order differ by less than this share.
inline constexpr double kRoundingOfSums = 1e-12;

struct MissedLimit {
  enum class Kind : std::uint8_t { kCostPerIteration, kCostPerHour, kThroughput };
  Kind kind;
  double figure;  // of the plan: US dollars, US dollars per hour, or iterations per second
  double limit;   // in the same unit
};

// Returns the first limit of the objective that iterations of this length and cost miss.
std::optional<MissedLimit> missed_limit(const Objective& objective, Seconds iteration, Dollars cost);

// Returns the figure with four digits, rounded so that it can be kept if it becomes the limit.
double figure_to_ask_for(const MissedLimit& missed);

std::string to_string(const MissedLimit& missed);  // "costs $12.3 an hour, and maxCostPerHour is $10"

}  // namespace sailor
