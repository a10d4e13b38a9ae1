// Failures of the trainer itself: unreadable data, a bug, a container that cannot run. They count against maxRestarts.
// A worker that became unresponsive counts as a fault of its machine, not as a failure of the job, as long as the job
// makes progress from one such fault to the next.
#pragma once

#include <optional>
#include <string>

#include "operator/model/observation.h"

namespace sailor {

struct TrainerFailure {
  std::string pod;
  std::string message;  // what the trainer said, or what the kubelet knows
};

// A failure that the newest record has not counted yet. All pods that fail in one generation count as one failure.
std::optional<TrainerFailure> find_uncounted_failure(const Observation& observation);

bool is_fault_of_machine(const GenerationRecord& record, const PodView& pod);

// The highest step at which a worker became unresponsive, of the pods that still exist; 0: none did.
std::int64_t furthest_unresponsive_step(const Observation& observation);

// The delay before the pods are created again; it doubles from one second to five minutes.
std::chrono::milliseconds restart_delay(int restarts);

}  // namespace sailor
