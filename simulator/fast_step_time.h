// Step time: how long the passes of a step take, for the search: by the closed form where it is right, else by the
// first rounds of the event simulation, extrapolated. O(groups of replicas) beyond a fixed number of passes.
#pragma once

#include <span>

#include "simulator/pipeline_time.h"

namespace sailor {

// From the start of the step to its last backward pass, in seconds. `stages` with their means.
double fast_step_time(std::span<const StageTiming> stages, int microbatches);

// What step_time() never goes below: every replica's work, and the way of a microbatch to it and back through the
// fastest replicas and links.
double least_step_time(std::span<const StageTiming> stages);

}  // namespace sailor
