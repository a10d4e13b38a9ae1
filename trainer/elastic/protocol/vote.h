// The result of the vote at the end of a step.
#pragma once

namespace sailor::trainer {

// True if the generation ends by agreement with this step: some worker asks to leave for the next generation, and none
// waits for joining workers that still receive state. All workers see the same sums.
inline bool ends_generation(double leaving, double waiting) { return leaving > 0 && waiting == 0; }

}  // namespace sailor::trainer
