// ParetoFront: the plans of which none is both faster and cheaper than another.
#pragma once

#include <vector>

#include "planner/problem/estimator.h"

namespace sailor {

// Of a front, that are shown beside the answer.
inline constexpr std::size_t kAlternatives = 6;

class ParetoFront {
 public:
  struct Entry {
    GroupedPlan plan;
    Quote quote;
  };

  void offer(const GroupedPlan& plan, const Quote& quote);
  // Fastest first; at most `most`, evenly chosen, both ends among them.
  [[nodiscard]] std::vector<Entry> chosen(std::size_t most) const;

 private:
  std::vector<Entry> entries_;  // ascending time, descending cost
};

}  // namespace sailor
