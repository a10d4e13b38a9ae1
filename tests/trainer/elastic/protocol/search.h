// Sweep: visits every world that can be come to, those with least progress first. Every event makes progress, so what
// lies behind is never come to again, and only the worlds ahead are kept: whole, not by a fingerprint.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tests/trainer/elastic/protocol/explorer.h"

namespace sailor::trainer::exploration {

struct Survey {
  std::size_t worlds = 0;
  std::size_t events = 0;             // between them
  std::size_t most_kept = 0;          // worlds at a time
  std::vector<std::string> failures;  // which invariant, and the course of events up to there
};

// Ends at the first world in which an invariant fails. A world in which nothing more can happen without a fault, and
// the job does not train, is such a one: as every course of events ends, then every course ends in training.
Survey explore(const World& first, const Limits& limits, const Rules& rules = {},
               Reduction reduction = Reduction::kTidy);

}  // namespace sailor::trainer::exploration
