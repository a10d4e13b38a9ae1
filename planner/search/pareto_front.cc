#include "planner/search/pareto_front.h"

#include <algorithm>

namespace sailor {

void ParetoFront::offer(const GroupedPlan& plan, const Quote& quote) {
  const auto at =
      std::ranges::lower_bound(entries_, quote.iteration, {}, [](const Entry& entry) { return entry.quote.iteration; });
  const bool equal_is_cheaper =
      at != entries_.end() && at->quote.iteration == quote.iteration && at->quote.cost <= quote.cost;
  const bool faster_is_cheaper = at != entries_.begin() && std::prev(at)->quote.cost <= quote.cost;
  if (equal_is_cheaper || faster_is_cheaper) return;
  auto dominated = at;
  while (dominated != entries_.end() && dominated->quote.cost >= quote.cost) ++dominated;
  const auto place = entries_.erase(at, dominated);
  entries_.insert(place, {plan, quote});
}

std::vector<ParetoFront::Entry> ParetoFront::chosen(std::size_t most) const {
  if (entries_.size() <= most || most < 2) return entries_;
  std::vector<Entry> result;
  for (std::size_t i = 0; i < most; ++i) result.push_back(entries_[i * (entries_.size() - 1) / (most - 1)]);
  return result;
}

}  // namespace sailor
