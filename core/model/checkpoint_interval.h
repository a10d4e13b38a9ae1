// The time between checkpoints of a job that sets no interval of its own.
#pragma once

#include "core/model/job_spec.h"
#include "core/model/units.h"

namespace sailor {

// The time to write a checkpoint, as long as none has been written.
inline constexpr Seconds kAssumedCheckpointWriting{10};

// Returns the interval at which writing checkpoints and repeating steps after failures together take the least time:
// sqrt(2 x writing x time between failures), from Young, "A First Order Approximation to the Optimum Checkpoint
// Interval" (1974). It is at least twice the time of writing, and at most an hour.
Seconds automatic_checkpoint_interval(Seconds writing, double failures_per_hour);

// Returns the most time between the starts of two checkpoints of a job with steps of this time.
Seconds time_between_checkpoints(const CheckpointSpec& checkpoint, Seconds iteration, double failures_per_hour);

}  // namespace sailor
