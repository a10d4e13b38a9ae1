#include "planner/search/finalists.h"

#include <algorithm>

namespace sailor {

void Finalists::keep_if_best(const PlanCandidate& candidate, const PlanOrder& order) {
  const GroupedPlan& plan = candidate.plan;
  const Shape shape{plan.microbatch_size, plan.stages.size(), tensor_parallel_sizes(plan.stages),
                    has_equal_shares(plan), plan.techniques};
  const auto [found, is_new] = best_.try_emplace(shape, candidate);
  if (!is_new && order.is_better(candidate, found->second)) found->second = candidate;
}

void Finalists::add(const Finalists& others, const PlanOrder& order) {
  for (const auto& [shape, candidate] : others.best_) keep_if_best(candidate, order);
}

std::vector<PlanCandidate> Finalists::sorted(const ParetoFront& front, const Goal& goal) const {
  std::vector<PlanCandidate> sorted;
  sorted.reserve(best_.size() + kAlternatives);
  for (const auto& [shape, candidate] : best_) sorted.push_back(candidate);
  for (const auto& [plan, estimate] : front.sample(kAlternatives)) {
    if (std::ranges::find(sorted, plan, &PlanCandidate::plan) != sorted.end()) continue;
    sorted.push_back({draft_of(plan), plan, estimate, goal.score_of(estimate, plan.gpus())});
  }
  std::ranges::stable_sort(sorted, {}, &PlanCandidate::score);
  const auto equal =
      std::ranges::find_if(sorted, [](const PlanCandidate& candidate) { return has_equal_shares(candidate.plan); });
  if (equal != sorted.end()) std::rotate(sorted.begin(), equal, equal + 1);
  return sorted;
}

std::vector<CandidatesOfOutline> by_outline(std::vector<PlanCandidate> candidates) {
  std::vector<CandidatesOfOutline> groups;
  for (PlanCandidate& candidate : candidates) {
    const Outline outline = outline_of(candidate.plan);
    auto found = std::ranges::find(groups, outline, &CandidatesOfOutline::first);
    if (found == groups.end()) found = groups.insert(groups.end(), {outline, {}});
    found->second.push_back(std::move(candidate));
  }
  return groups;
}

}  // namespace sailor
