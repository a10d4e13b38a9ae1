// AnnealedPlans: the plans from which annealing has started. The same random changes of the same plan lead to the same
// answer, so a search anneals no plan twice.
#pragma once

#include <set>
#include <span>

#include "planner/problem/grouped_plan.h"

namespace sailor {

class AnnealedPlans {
 public:
  // Returns false if the plan has been added before.
  bool add(const GroupedPlan& plan) { return plans_.insert(plan).second; }
  // Adds the plans of a search with these pools: `pools` says which pools of this problem those of the other one are.
  void add(const AnnealedPlans& other, std::span<const int> pools);

  // Returns the plans that use only these pools of the problem, for a search with these pools.
  [[nodiscard]] AnnealedPlans with_pools(std::span<const int> pools) const;

 private:
  std::set<GroupedPlan> plans_;
};

}  // namespace sailor
