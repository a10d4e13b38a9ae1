// rounded_down: the largest float that is not above a value. Tables of lower bounds store their values this way.
#pragma once

#include <cmath>

namespace sailor {

// The value must not be negative.
inline float rounded_down(double value) {
  const auto rounded = static_cast<float>(value);
  return rounded <= value ? rounded : std::nextafter(rounded, 0.0F);
}

}  // namespace sailor
