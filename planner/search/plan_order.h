// PlanOrder: which of two plans is better.
#pragma once

#include <cmath>
#include <limits>
#include <vector>

#include "planner/replan/migration_cost.h"
#include "planner/search/plan_candidate.h"

namespace sailor {

// The incumbent is the best feasible plan known so far. Its value (Score::value) is the value that other plans must
// stay below. This constant stands for its value while no feasible plan is known; every plan is below it.
inline constexpr double kNoIncumbent = std::numeric_limits<double>::infinity();

// Every better plan has a smaller value. While no plan is feasible, values do not matter: a plan is better if it comes
// nearer to being feasible.
inline double value_to_beat(const Score& score) { return score.is_feasible() ? score.value : kNoIncumbent; }

// Returns a limit that equally good plans pass, because they may use fewer GPUs or move less state.
inline double passed_by_equals(double value) { return std::nextafter(value, kNoIncumbent); }

// The plan with the better score is better. Of plans with equal scores, the one that moves less state is, and then the
// one on fewer nodes: what moves costs time now, and nodes may fail later. The rest of the order only makes it total.
class PlanOrder {
 public:
  // `migration` is null if no plan is running. Both must outlive this object.
  PlanOrder(const PlanningProblem& problem, const MigrationCost* migration)
      : problem_(&problem), migration_(migration) {}

  [[nodiscard]] bool is_better(const PlanCandidate& one, const PlanCandidate& other) const;
  void sort_best_first(std::vector<PlanCandidate>& candidates) const;

 private:
  const PlanningProblem* problem_;
  const MigrationCost* migration_;
};

}  // namespace sailor
