// Simulates a step with given times and records the operations of every replica in order.
#pragma once

#include "core/schedule/schedule.h"
#include "core/schedule/step_flow.h"

namespace sailor {

// An idle replica starts its oldest ready backward pass. If none is ready and the replica is below its cap, it starts
// its oldest ready forward pass. A transfer starts when a buffer at the receiver is free; then it queues at both NICs.
// It is recorded in the lists of both ends when it starts, so all lists are views of one sequence in which every
// operation comes after the operations that it depends on. `flow` must have been made from `plan` and `routes`. Returns
// nothing if a deadline is certainly missed (step_flow.h).
std::optional<Schedule> simulate_step(const StepFlow& flow, const Plan& plan, std::vector<std::vector<int>> routes,
                                      std::span<const Nanoseconds> deadlines);

}  // namespace sailor
