// Failures of the trainer itself: unreadable data, a bug, a container that cannot run. They count against maxRestarts.
// A worker that gave its agent no answer is taken for its machine's fault, which does not count, as long as the job
// comes further from one time to the next.
#pragma once

#include <optional>
#include <string>

#include "operator/model/observation.h"

namespace sailor {

struct TrainerFailure {
  std::string pod;
  std::string message;  // what the trainer said, or what the kubelet knows
};

// A failure that the newest record has not counted yet. All pods that fail in one generation are one failure.
std::optional<TrainerFailure> find_uncounted_failure(const Observation& observation);

bool is_fault_of_machine(const GenerationRecord& record, const PodView& pod);

// The furthest step at which a worker was silent, of the pods that are still seen; 0: none was.
std::int64_t furthest_unresponsive_step(const Observation& observation);

// How long to wait before the pods are made anew: doubling from a second to five minutes.
std::chrono::milliseconds restart_delay(int restarts);

}  // namespace sailor
