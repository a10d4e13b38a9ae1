// Finds failures of the trainer itself: unreadable data, a bug, a container that cannot run. They count against
// maxRestarts. An unresponsive worker does not count as a failure of the trainer but as a fault of its machine, as long
// as the job makes progress between two such faults.
#pragma once

#include <optional>
#include <string>

#include "operator/model/observation.h"

namespace sailor {

struct TrainerFailure {
  std::string pod;
  std::string message;  // the trainer's last message, or the kubelet's
};

// Returns a failure that the newest record has not counted yet. All pods that fail in one generation count as one
// failure.
std::optional<TrainerFailure> find_uncounted_failure(const Observation& observation);

// Returns a failure of a pod that was left behind because it did not answer. Its kubelet has said since that the
// trainer has failed, so the pod's node is well. The failure is not counted yet if the node is still in quarantine for
// this.
std::optional<TrainerFailure> find_late_failure(const Observation& observation);

// Returns until when a pod that does not answer is kept because its kubelet may yet say that the trainer has failed.
// Nothing: the pod need not be kept.
std::optional<Time> awaits_its_kubelet_until(const Observation& observation, const GenerationRecord& record,
                                             const PodView& pod);

// Returns whether the pod ended because a worker was unresponsive, at a higher step than the last time this happened.
bool is_fault_of_machine(const GenerationRecord& record, const PodView& pod);

// Returns the highest step at which a worker of an existing pod became unresponsive; 0: no worker did.
std::int64_t furthest_unresponsive_step(const Observation& observation);

// Returns the delay before the pods are created again. It doubles from one second up to five minutes.
std::chrono::milliseconds restart_delay(int restarts);

}  // namespace sailor
