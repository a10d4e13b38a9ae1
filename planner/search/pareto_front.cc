#include "planner/search/pareto_front.h"

#include <algorithm>

namespace sailor {

void ParetoFront::add_unless_dominated(const GroupedPlan& plan, const EstimateSummary& estimate) {
  const auto at = std::ranges::lower_bound(entries_, estimate.useful_iteration(), {},
                                           [](const Entry& entry) { return entry.estimate.useful_iteration(); });
  const bool equal_is_cheaper = at != entries_.end() &&
                                at->estimate.useful_iteration() == estimate.useful_iteration() &&
                                at->estimate.useful_cost() <= estimate.useful_cost();
  const bool faster_is_cheaper =
      at != entries_.begin() && std::prev(at)->estimate.useful_cost() <= estimate.useful_cost();
  if (equal_is_cheaper || faster_is_cheaper) return;
  auto dominated = at;
  while (dominated != entries_.end() && dominated->estimate.useful_cost() >= estimate.useful_cost()) ++dominated;
  const auto place = entries_.erase(at, dominated);
  entries_.insert(place, {plan, estimate});
}

std::vector<ParetoFront::Entry> ParetoFront::sample(std::size_t most) const {
  if (entries_.size() <= most || most < 2) return entries_;
  std::vector<Entry> result;
  result.reserve(most);
  for (std::size_t i = 0; i < most; ++i) result.push_back(entries_[i * (entries_.size() - 1) / (most - 1)]);
  return result;
}

}  // namespace sailor
