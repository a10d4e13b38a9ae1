// Simulates a step with given times and records the operations of every replica in order.
#pragma once

#include "core/schedule/schedule.h"
#include "core/schedule/step_flow.h"

namespace sailor {

// An idle replica can start its oldest ready backward pass and, if it is below its cap, its oldest ready forward pass.
// `flow.order` says which of them it starts if it can start both. A transfer starts when a buffer at the receiver is
// free; then it queues at both NICs. It is recorded in the lists of both ends when it starts, so all lists are views of
// one sequence in which every operation comes after the operations that it depends on. `flow` must have been made from
// `plan` and `routes`.
//
// The simulation never deadlocks, in either order, because no replica stays idle while it can start a pass. Suppose
// that nothing can start any more. In the last stage a forward pass makes its own backward pass ready, and a backward
// pass needs no cap; so every microbatch that arrived there is done, the stage's buffers are free, and nothing waits
// for them. If this holds for the stages after stage i, then all gradients that stage i needs have arrived and were
// processed. So its replicas have nothing in flight, and therefore, as caps are at least 1, have taken everything that
// arrived. Hence it holds for stage i too, and by induction for stage 0, where all microbatches arrive at the start.
Schedule simulate_step(const StepFlow& flow, const Plan& plan, std::vector<std::vector<int>> routes);

}  // namespace sailor
