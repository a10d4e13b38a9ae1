// BandwidthCurve: how fast messages of a size were measured to travel between two machines, or two GPUs of one.
#pragma once

#include "core/model/units.h"

namespace sailor {

// A polynomial in l = log2(bytes / 1e6), in GB/s. Such fits hold from a megabyte on and may turn negative below, or
// fall again beyond their peak: where nothing was measured, the nearest measured value holds.
struct BandwidthCurve {
  double quadratic = 0;
  double linear = 0;
  double constant = 0;  // at a megabyte; above 0
  BytesPerSecond peak;  // the highest that was measured
  friend bool operator==(const BandwidthCurve&, const BandwidthCurve&) = default;

  [[nodiscard]] BytesPerSecond at(Bytes message) const;
};

}  // namespace sailor
