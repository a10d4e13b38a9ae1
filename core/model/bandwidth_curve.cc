#include "core/model/bandwidth_curve.h"

#include <algorithm>
#include <cmath>

namespace sailor {
namespace {

constexpr double kMeasuredFrom = 1e6;

}  // namespace

BytesPerSecond BandwidthCurve::at(Bytes message) const {
  double l = std::log2(std::max(message.value(), kMeasuredFrom) / kMeasuredFrom);
  if (quadratic < 0) l = std::min(l, std::max(0.0, -linear / (2 * quadratic)));
  const BytesPerSecond fitted = gigabytes_per_second((quadratic * l + linear) * l + constant);
  return std::min(peak, std::max(fitted, gigabytes_per_second(constant)));
}

BytesPerSecond BandwidthCurve::extrapolated_at(Bytes message) const {
  const double l = std::log2(message.value() / kMeasuredFrom);
  const BytesPerSecond fitted = gigabytes_per_second((quadratic * l + linear) * l + constant);
  return fitted > BytesPerSecond(0) ? fitted : at(message);
}

}  // namespace sailor
