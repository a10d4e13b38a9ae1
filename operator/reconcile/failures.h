// Failures of the trainer itself: unreadable data, a bug, a container that cannot run. They count against maxRestarts.
#pragma once

#include <optional>
#include <string>

#include "operator/reconcile/observation.h"

namespace sailor {

struct TrainerFailure {
  std::string pod;
  std::string message;  // what the trainer said, or what the kubelet knows
};

// A failure that the newest record has not counted yet. All pods that fail in one generation are one failure.
std::optional<TrainerFailure> find_uncounted_failure(const Observation& seen);

// How long to wait before the pods are made anew: doubling from a second to five minutes.
std::chrono::milliseconds restart_delay(int restarts);

}  // namespace sailor
