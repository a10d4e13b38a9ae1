#include "planner/search/simulations.h"

#include <algorithm>
#include <array>
#include <utility>

#include "planner/problem/run_both.h"

namespace sailor {

std::optional<PlanCandidate> Simulations::simulated(PlanCandidate candidate, double incumbent) const {
  const Cutoff cutoff = incumbent == kNoIncumbent ? Cutoff{} : goal_.cutoff_for(passed_by_equals(incumbent));
  return simulated_below(cutoff, problem_, goal_, std::move(candidate));
}

PlanCandidate Simulations::best_of(PlanCandidate from, std::span<const PlanCandidate> candidates) {
  for (std::size_t i = 0; i < candidates.size() && !is_over(); i += 2) {
    const double incumbent = value_to_beat(from.score);
    std::array<std::optional<PlanCandidate>, 2> pair;
    const auto simulate = [&](std::size_t at) {
      if (i + at < candidates.size()) pair.at(at) = simulated(candidates[i + at], incumbent);
    };
    run_both([&] { simulate(0); }, [&] { simulate(1); });
    for (auto& one : pair) {
      if (one && order_.is_better(*one, from)) from = *std::move(one);
    }
    for (const PlanCandidate& one : candidates.subspan(i, std::min<std::size_t>(2, candidates.size() - i))) {
      passes_left_ -= passes_of(one.plan);
    }
  }
  return from;
}

// The first feasible plan sets the limit for the others, which are then simulated two by two.
std::optional<PlanCandidate> Simulations::best_below(double most, std::vector<PlanCandidate> candidates) {
  std::optional<PlanCandidate> best;
  std::vector<PlanCandidate> waiting;
  for (PlanCandidate& candidate : candidates) {
    if (best && best->score.is_feasible()) {
      if (std::min(best->score.value, most) <= candidate.score.value) continue;
      waiting.push_back(std::move(candidate));
      if (waiting.size() < 2) continue;
      best = best_of(*std::move(best), std::exchange(waiting, {}));
    } else if (candidate.score.value < most) {
      passes_left_ -= passes_of(candidate.plan);
      auto next = simulated(std::move(candidate), kNoIncumbent);
      if (next && (!best || order_.is_better(*next, *best))) best = *std::move(next);
    }
  }
  if (best) best = best_of(*std::move(best), waiting);
  return best;
}

}  // namespace sailor
