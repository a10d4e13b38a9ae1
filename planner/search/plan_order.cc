#include "planner/search/plan_order.h"

#include <algorithm>

namespace sailor {

bool PlanOrder::is_better(const PlanCandidate& one, const PlanCandidate& other) const {
  if (one.score != other.score) return one.score < other.score;
  if (migration_ != nullptr) {
    const Bytes moved = migration_->bytes_to_move(one.plan);
    const Bytes least = migration_->bytes_to_move(other.plan);
    if (moved != least) return moved < least;
  }
  const int nodes = nodes_of(one.plan, problem_->cluster);
  const int fewest = nodes_of(other.plan, problem_->cluster);
  if (nodes != fewest) return nodes < fewest;
  return one.plan < other.plan;
}

void PlanOrder::sort_best_first(std::vector<PlanCandidate>& candidates) const {
  std::ranges::stable_sort(candidates,
                           [this](const PlanCandidate& a, const PlanCandidate& b) { return is_better(a, b); });
}

}  // namespace sailor
