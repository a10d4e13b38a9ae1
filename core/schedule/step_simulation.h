// StepSimulation: plays a step by the given times and writes down what every replica did, in order.
#pragma once

#include "core/schedule/schedule.h"
#include "core/schedule/step_flow.h"

namespace sailor {

// An idle replica takes its oldest ready backward pass, else, below its cap, its oldest ready forward pass. A transfer
// begins when a buffer at the receiver is free; it takes its turn at both network cards, and is written into the lists
// of both ends when it begins, so that all lists are views of one sequence in which everything comes after what it
// needs.
// `routes` are those of the flow, which is the plan's. Nothing as soon as a deadline is surely missed (step_flow.h).
std::optional<Schedule> simulate_step(const StepFlow& flow, const Plan& plan, std::vector<std::vector<int>> routes,
                                      std::span<const Nanoseconds> deadlines);

}  // namespace sailor
