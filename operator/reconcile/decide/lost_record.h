// The policies for a job whose record is lost, or is older than what the agents know, as after the restore of a backup.
// The number of a generation never goes back: it continues above the highest number that the record, the status, a pod
// or an agent mentions.
#pragma once

#include <cstdint>
#include <optional>

#include "operator/reconcile/decide/policy.h"

namespace sailor {

// Returns the highest number of a generation that the status, the pods or the agents of the job mention; 0: none.
std::int64_t highest_known_generation(const Observation& observation);

// Applies to a job without a record that has had one, unless all its steps are done, or it is to be suspended and has
// nothing to save. Waits until every pod has answered or is unresponsive, and then makes the next generation, of the
// pods that answer if a plan fits them. Every pod that may live counts as an older generation of its own, because
// nothing says which pods train together.
// A job of a queue of Kueue plans also on GPUs that the queue wants back, to save its state before it gives them back.
// Without a plan it gives them back at once; without pods it waits for quota.
std::optional<PolicyResult> replace_lost_record(const Observation& observation);

// Applies if an agent obeys a generation that the record does not know. Repeats the newest generation under a number
// above it, because agents obey only newer generations.
std::optional<PolicyResult> outnumber_unknown_generation(const Observation& observation);

}  // namespace sailor
