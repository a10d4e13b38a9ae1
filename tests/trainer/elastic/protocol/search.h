// Search: visits every reachable state (World), those with the least progress first. Every transition makes progress,
// so a visited state is never reached again, and only the states ahead are stored: completely, not as fingerprints.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tests/trainer/elastic/protocol/explorer.h"

namespace sailor::trainer::exploration {

struct Survey {
  std::size_t worlds = 0;
  std::size_t events = 0;             // transitions between them
  std::size_t most_kept = 0;          // the most states stored at a time
  std::vector<std::string> failures;  // the violated invariant, and the sequence of transitions that leads to it
};

// Stops at the first state that violates an invariant. A state from which only faults lead on, and in which the job
// does not train, is a violation too. Every sequence of transitions ends, so without violations every sequence ends in
// training.
Survey explore(const World& first, const Limits& limits, const Rules& rules = {},
               Reduction reduction = Reduction::kForgetIrrelevant);

}  // namespace sailor::trainer::exploration
