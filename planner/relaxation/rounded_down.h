// How bounds stay bounds in floating point: errors may only make a plan look better than it is.
#pragma once

#include <cmath>

namespace sailor {

inline constexpr double kRoundingSlack = 1e-9;  // bounds are loosened by this fraction

// Returns the largest float that is not above the value, which must not be negative. Tables of lower bounds store their
// values this way.
inline float rounded_down(double value) {
  const auto rounded = static_cast<float>(value);
  return rounded <= value ? rounded : std::nextafter(rounded, 0.0F);
}

}  // namespace sailor
