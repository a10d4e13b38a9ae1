// ReplayResults: what a replay shows: the reports of one policy or of several.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "planner/replay/replay.h"

namespace sailor::report {

struct ReplayResults {
  std::vector<std::pair<ReplayPolicy, ReplayReport>> reports;  // at least one
  std::vector<std::string> notes;                              // Replay::notes()
  std::uint64_t seed = 1;
};

// Returns the steps of the oracle, or zero if it was not played.
inline double steps_of_oracle(const ReplayResults& results) {
  const auto is_oracle = [](const auto& named) { return named.first == ReplayPolicy::kOracle; };
  const auto oracle = std::ranges::find_if(results.reports, is_oracle);
  return oracle == results.reports.end() ? 0 : oracle->second.steps;
}

}  // namespace sailor::report
