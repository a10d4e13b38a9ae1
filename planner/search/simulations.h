// Simulations: simulates candidates operation by operation, two at a time on two threads, within a budget. The budget
// counts work and not time, so that the answer does not depend on the speed of the machine.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "planner/search/plan_order.h"

namespace sailor {

class Simulations {
 public:
  // The problem, the limits and the goal for simulated figures must outlive this object.
  Simulations(const PlanningProblem& problem, const SearchLimits& limits, const Goal& goal, PlanOrder order)
      : problem_(problem), limits_(limits), goal_(goal), order_(order) {}

  // Sets how many forward and backward passes of microbatches through stages may be simulated from now on. Each takes
  // less than a microsecond.
  void set_budget(long passes) { passes_left_ = passes; }
  [[nodiscard]] bool is_over() const { return passes_left_ <= 0 || limits_.is_over(); }

  // Returns the candidate with the simulated figures, whatever the budget. If `incumbent` is the value of a feasible
  // plan, returns nothing for a candidate that has a higher value or misses a limit that Goal::cutoff_for() covers.
  [[nodiscard]] std::optional<PlanCandidate> simulated(PlanCandidate candidate, double incumbent) const;

  // Returns the best of `from`, which has simulated figures, and the candidates, until the budget is spent.
  [[nodiscard]] PlanCandidate best_of(PlanCandidate from, std::span<const PlanCandidate> candidates);

  // Returns the best of the candidates whose value by fast estimates is below `most`. It is infeasible if all are.
  [[nodiscard]] std::optional<PlanCandidate> best_below(double most, std::vector<PlanCandidate> candidates);

 private:
  const PlanningProblem& problem_;
  const SearchLimits& limits_;
  const Goal& goal_;
  PlanOrder order_;
  long passes_left_ = 0;
};

}  // namespace sailor
