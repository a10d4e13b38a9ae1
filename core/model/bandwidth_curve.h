// BandwidthCurve: measured bandwidth by message size, between two machines or between two GPUs of one machine.
#pragma once

#include "core/model/units.h"

namespace sailor {

// A quadratic polynomial in l = log2(bytes / 1e6) that gives GB/s. The fit is valid from one megabyte on. Below that it
// may become negative, and beyond its maximum it may fall; there at() returns the nearest measured value.
struct BandwidthCurve {
  double quadratic = 0;
  double linear = 0;
  double constant = 0;  // GB/s at one megabyte; above 0
  BytesPerSecond peak;  // the highest bandwidth that was measured
  friend bool operator==(const BandwidthCurve&, const BandwidthCurve&) = default;

  [[nodiscard]] BytesPerSecond at(Bytes message) const;
  // The polynomial itself, also where it is not valid, as the Sailor paper's public simulator uses it. Where it is not
  // positive, the result is that of at().
  [[nodiscard]] BytesPerSecond extrapolated_at(Bytes message) const;
};

}  // namespace sailor
