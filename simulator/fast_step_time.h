// Fast step time: an estimate, for the search, of how long the passes of a step take. It uses the closed form where
// that is accurate. Elsewhere it extrapolates from the first rounds of the event simulation. It takes O(groups of
// replicas) plus a fixed number of passes.
#pragma once

#include <limits>
#include <span>

#include "simulator/pipeline_time.h"

namespace sailor {

// Returns the seconds from the start of the step to the end of its last backward pass. set_means() must have been
// called on the stages. If the time reaches the limit, returns as soon as that is certain some time from the limit on.
double fast_step_time(std::span<const StageTiming> stages, int microbatches,
                      double limit = std::numeric_limits<double>::infinity());

// Steps of more passes are timed by long_step_time() where others are simulated operation by operation: their lists of
// operations would take hundreds of megabytes.
inline constexpr int kMostSimulatedPasses = 1 << 18;

// Returns the same as fast_step_time(), more accurately and for steps of any length in bounded time and memory. After
// the first rounds of a step its microbatches follow each other at a constant rate, which shows in the difference of
// two beginnings, one twice as long as the other.
double long_step_time(std::span<const StageTiming> stages, int microbatches);
// The same from a beginning of about so many passes.
double long_step_time(std::span<const StageTiming> stages, int microbatches, int passes);

// Returns a lower bound on fast_step_time(): the largest sum of the work of a replica and the path of a microbatch to
// it and back through the fastest replicas and links.
double least_step_time(std::span<const StageTiming> stages);

}  // namespace sailor
