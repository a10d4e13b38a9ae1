// The rule by which the votes at the end of a step (Vote in step/training_step.h) end a generation.
#pragma once

namespace sailor::trainer {

// Returns true if the generation ends after this step: at least one worker wants to leave for the next generation, and
// no worker waits for joining workers that still receive state. The arguments are the numbers of these workers, summed
// over all workers. So all workers get the same result.
inline bool ends_generation(double leaving, double waiting) { return leaving > 0 && waiting == 0; }

}  // namespace sailor::trainer
