// BoundProver: proves that no plan is as fast as asked, including the filling of the pipeline and synchronisation.
// docs/planner-bound.md has the proof.
#pragma once

#include <deque>
#include <functional>

#include "planner/problem/planning_problem.h"
#include "planner/proof/split_bound_solver.h"
#include "planner/relaxation/gpu_prices.h"

namespace sailor {

class BoundProver {
 public:
  struct Effort {
    int path_levels = 1;    // resolution of the time that a microbatch spends on its path, in one solver call
    int end_levels = 8;     // resolution of the time that a stage leaves to the stages after it
    int price_updates = 2;  // solver calls for each class of plans, each with better prices
    int halvings = 0;       // how often a class of plans may be divided into two
    long solver_calls = 8;  // in all
  };

  // The problem must outlive the prover.
  explicit BoundProver(const PlanningProblem& problem);
  BoundProver(const BoundProver&) = delete;
  BoundProver& operator=(const BoundProver&) = delete;
  ~BoundProver() = default;

  using IsOver = std::function<bool()>;

  // True: no plan has an iteration of at most `seconds`. False: this is not proved, or not in time.
  bool proves_unreachable(double seconds, const Effort& effort, const IsOver& is_over);
  [[nodiscard]] long solver_calls() const { return solver_calls_; }  // so far: the work done

 private:
  // The plans of one setting that use some pool only on one of its nodes, or that use no pool so.
  struct Case {
    ProofTable* table = nullptr;
    GpuPrices prices;
    bool inside_nodes = false;
  };

  struct Trial {
    const Effort& effort;
    const IsOver& is_over;
  };

  bool proves_unreachable(Case& one, const PlanClass& plans, const Trial& trial, int halvings);

  std::deque<ProofTable> tables_;
  std::vector<Case> cases_;
  long solver_calls_ = 0;
};

// Seconds of an iteration: `unreachable` is proved to be too short for every plan, `reached` is that of a known plan.
struct SecondsRange {
  double unreachable = 0;
  double reached = 0;
};
// The longest time that is proved unreachable, to within a quarter of a percent.
double longest_unreachable(BoundProver& prover, SecondsRange known, const BoundProver::Effort& effort,
                           const BoundProver::IsOver& is_over);

}  // namespace sailor
