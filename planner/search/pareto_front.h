// ParetoFront: collects the plans that are not dominated. A plan is dominated if another plan is at least as fast and
// at least as cheap. The expected loss counts (EstimateSummary::useful_iteration()).
#pragma once

#include <vector>

#include "planner/problem/estimator.h"

namespace sailor {

// How many plans of the front, at most, the planner shows beside its answer.
inline constexpr std::size_t kAlternatives = 6;

class ParetoFront {
 public:
  struct Entry {
    GroupedPlan plan;
    EstimateSummary estimate;
  };

  // Adds the plan unless a plan of the front dominates it. Removes the plans that the new one dominates.
  void add_unless_dominated(const GroupedPlan& plan, const EstimateSummary& estimate);
  // Returns at most `most` plans (at least 2), evenly spread from the fastest to the cheapest, the fastest first.
  [[nodiscard]] std::vector<Entry> sample(std::size_t most) const;
  [[nodiscard]] const std::vector<Entry>& all() const { return entries_; }

 private:
  std::vector<Entry> entries_;  // sorted by ascending time, which is also descending cost
};

}  // namespace sailor
