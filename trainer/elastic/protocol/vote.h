// What comes of the vote at the end of a step.
#pragma once

namespace sailor::trainer {

// Whether the generation ends, by agreement, with the step that is voted for: somebody asks to leave for the next one,
// and nobody waits for newcomers of it that follow the training. All see the same sums.
inline bool ends_generation(double leaving, double waiting) { return leaving > 0 && waiting == 0; }

}  // namespace sailor::trainer
