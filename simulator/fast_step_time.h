// Fast step time: an estimate, for the search, of how long the passes of a step take. It uses the closed form where
// that is accurate. Elsewhere it extrapolates from the first rounds of the event simulation. It takes O(groups of
// replicas) plus a fixed number of passes.
#pragma once

#include <span>

#include "simulator/pipeline_time.h"

namespace sailor {

// Returns the seconds from the start of the step to the end of its last backward pass. set_means() must have been
// called on the stages.
double fast_step_time(std::span<const StageTiming> stages, int microbatches);

// Returns a lower bound on fast_step_time(): the largest sum of the work of a replica and the path of a microbatch to
// it and back through the fastest replicas and links.
double least_step_time(std::span<const StageTiming> stages);

}  // namespace sailor
