#include "core/model/checkpoint_interval.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sailor {

Seconds automatic_checkpoint_interval(Seconds writing, double failures_per_hour) {
  constexpr Seconds kMost{3600};
  if (failures_per_hour <= 0) return kMost;
  const Seconds best(std::sqrt(2 * writing.value() * 3600 / failures_per_hour));
  return std::min(kMost, std::max(best, writing * 2.0));
}

Seconds time_between_checkpoints(const CheckpointSpec& checkpoint, Seconds iteration, double failures_per_hour) {
  if (checkpoint.is_automatic()) {
    return automatic_checkpoint_interval(kAssumedCheckpointWriting, failures_per_hour) + iteration;
  }
  Seconds interval(std::numeric_limits<double>::infinity());
  if (checkpoint.every_steps) interval = iteration * static_cast<double>(*checkpoint.every_steps);
  if (!checkpoint.every_seconds) return interval;
  return std::min(interval, Seconds(static_cast<double>(*checkpoint.every_seconds)) + iteration);
}

}  // namespace sailor
