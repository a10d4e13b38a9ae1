// Fast step time: how long the passes of a step take, for the search. Uses the closed form where it is accurate, and
// else extrapolates from the first rounds of the event simulation. O(groups of replicas) plus a fixed number of passes.
#pragma once

#include <span>

#include "simulator/pipeline_time.h"

namespace sailor {

// Seconds from the start of the step to its last backward pass. set_means() must have been called on the stages.
double fast_step_time(std::span<const StageTiming> stages, int microbatches);

// A lower bound of fast_step_time(): the work of every replica, and the path of a microbatch to it and back through the
// fastest replicas and links.
double least_step_time(std::span<const StageTiming> stages);

}  // namespace sailor
