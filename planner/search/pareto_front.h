// ParetoFront: the plans of which none is both faster and cheaper than another.
#pragma once

#include <vector>

#include "planner/problem/estimator.h"

namespace sailor {

// The most plans of the front that the planner shows beside its answer.
inline constexpr std::size_t kAlternatives = 6;

class ParetoFront {
 public:
  struct Entry {
    GroupedPlan plan;
    EstimateSummary estimate;
  };

  // Adds the plan unless another one is at least as fast and as cheap. Removes the plans that are neither faster nor
  // cheaper than the new one.
  void offer(const GroupedPlan& plan, const EstimateSummary& estimate);
  // At most `most` plans, the fastest first, evenly chosen from the fastest to the cheapest.
  [[nodiscard]] std::vector<Entry> sample(std::size_t most) const;

 private:
  std::vector<Entry> entries_;  // ascending time, descending cost
};

}  // namespace sailor
