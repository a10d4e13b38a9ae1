// Annealing: improves a plan by random changes. After a few changes that fast estimates favour, it simulates the plan
// operation by operation, and goes on from there if the plan is better. At first it also goes on from plans that are a
// little worse.
#pragma once

#include "planner/search/fast_estimates.h"
#include "planner/search/plan_order.h"
#include "planner/search/random_change.h"

namespace sailor {

class Annealing {
 public:
  // How much work it may do.
  struct Effort {
    long passes = 0;     // of microbatches through stages, there and back, in all simulations
    long proposals = 0;  // changes that are drawn; most are rejected by the estimate
  };
  struct Options {
    std::uint64_t seed = 1;  // another seed tries other changes
    int changes = 1;         // changes that the estimate accepts before the plan is simulated
  };

  // `from` is a feasible plan with the figures of the simulation. The problem must outlive this object.
  Annealing(const PlanningProblem& problem, const SearchGoals& goals, PlanCandidate from, Options options)
      : problem_(problem),
        goals_(goals),
        options_(options),
        estimates_(problem),
        random_(options.seed),
        current_(std::move(from)),
        best_(current_) {}

  // Returns once the effort is spent or the limits are over.
  void run(const Effort& effort, const SearchLimits& limits);
  // Continues with this plan, which is feasible and has the figures of the simulation.
  void continue_from(const PlanCandidate& plan) { current_ = best_ = plan; }

  // The best feasible plan so far.
  [[nodiscard]] const PlanCandidate& best() const { return best_; }

 private:
  std::optional<PlanCandidate> changed(const PlanCandidate& from, double most_estimate);
  std::optional<PlanCandidate> walked(PlanCandidate from, double tolerance, Effort& left);

  const PlanningProblem& problem_;
  SearchGoals goals_;
  Options options_;
  FastEstimates estimates_;
  RandomNumbers random_;
  PlanCandidate current_;
  PlanCandidate best_;
  double current_estimate_ = 0;  // the goal's value of the current plan, by its fast estimate
};

// Plans with more passes of microbatches through stages are not annealed: a chain would simulate too few of them.
inline constexpr long kMostAnnealedPasses = 300'000;

// How annealed() compares plans.
struct Comparison {
  const PlanOrder& order;
  double rival;  // the value of a plan that another search has found, or infinite; see below
};

// Anneals a feasible plan, which has the figures of the simulation, by pairs of chains. A chain is one Annealing. One
// chain of a pair relies on simulations, the other on estimates: which of them finds more depends on the problem. After
// each of a few rounds, both continue from the better plan. The pairs do not depend on each other. No further round
// begins once the best plan is far worse than the rival. Returns the best plan of all chains, which may be `best`
// itself.
PlanCandidate annealed(const PlanningProblem& problem, const SearchGoals& goals, const SearchLimits& limits,
                       PlanCandidate best, const Comparison& comparison);

}  // namespace sailor
