#include "planner/search/annealed_plans.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace sailor {

void AnnealedPlans::add(const AnnealedPlans& other, std::span<const int> pools) {
  for (GroupedPlan plan : other.plans_) {
    renumber_pools(plan.stages, pools);
    plans_.insert(std::move(plan));
  }
}

AnnealedPlans AnnealedPlans::with_pools(std::span<const int> pools) const {
  constexpr int kOther = -1;
  std::vector<int> numbers(pools.empty() ? 0 : static_cast<std::size_t>(std::ranges::max(pools)) + 1, kOther);
  for (std::size_t i = 0; i < pools.size(); ++i) numbers[static_cast<std::size_t>(pools[i])] = static_cast<int>(i);
  const auto is_in_pools = [&](const GroupedStage& stage) {
    return std::ranges::all_of(stage.groups, [&](const ReplicaGroup& group) {
      return std::cmp_less(group.pool, numbers.size()) && numbers[static_cast<std::size_t>(group.pool)] != kOther;
    });
  };
  AnnealedPlans known;
  for (GroupedPlan plan : plans_) {
    if (!std::ranges::all_of(plan.stages, is_in_pools)) continue;
    renumber_pools(plan.stages, numbers);
    known.plans_.insert(std::move(plan));
  }
  return known;
}

}  // namespace sailor
