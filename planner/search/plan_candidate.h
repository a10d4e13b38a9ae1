// PlanCandidate: a plan that a search has evaluated, and what all parts of a search share: its goals and its limits.
#pragma once

#include <chrono>
#include <iterator>
#include <optional>
#include <stop_token>

#include "planner/problem/draft.h"
#include "planner/problem/goal.h"

namespace sailor {

struct PlanCandidate {
  Draft draft;
  GroupedPlan plan;
  EstimateSummary estimate;  // the fast estimate, or the result of the simulation
  Score score;
};

// The passes of microbatches through stages that a simulation of the plan executes.
inline long passes_of(const GroupedPlan& plan) { return 2L * plan.microbatches * std::ssize(plan.stages); }

struct SearchLimits {
  std::stop_token stop;
  std::optional<std::chrono::steady_clock::time_point> deadline;

  [[nodiscard]] bool is_over() const {
    return stop.stop_requested() || (deadline && std::chrono::steady_clock::now() >= *deadline);
  }
};

// The goal for fast estimates and the goal for simulated figures. They differ only in the limits of the second search,
// which come from a plan whose two estimates differ.
struct SearchGoals {
  Goal fast;
  Goal simulated;
};

// Simulates the candidate, and returns it with the simulated figures. Returns nothing if they reach the cutoff.
inline std::optional<PlanCandidate> simulated_below(const Cutoff& cutoff, const PlanningProblem& problem,
                                                    const Goal& goal, PlanCandidate candidate) {
  const auto estimate = problem.estimator->simulated_below(cutoff, candidate.plan);
  if (!estimate) return std::nullopt;
  candidate.estimate = *estimate;
  candidate.score = goal.score_of(*estimate, candidate.plan.gpus());
  return candidate;
}

}  // namespace sailor
