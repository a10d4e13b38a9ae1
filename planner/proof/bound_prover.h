// BoundProver: tries to prove that no plan is as fast as a given time. Unlike the closed-form bounds of bound.h, it
// accounts for the time that the pipeline takes to fill and for synchronisation. docs/planner-bound.md has the proof.
#pragma once

#include <deque>
#include <functional>

#include "planner/problem/planning_problem.h"
#include "planner/proof/split_bound_solver.h"
#include "planner/relaxation/gpu_prices.h"

namespace sailor {

class BoundProver {
 public:
  // How much work a proof may take. The word "path" is defined at PlanClass.
  struct Effort {
    int path_levels = 1;    // how finely the solver divides the path time
    int end_levels = 8;     // how finely the solver divides the time in which a stage cannot work
    int price_updates = 2;  // solver calls for each class of plans; each call has better prices
    int halvings = 0;       // how often a class of plans may be divided in two
    long solver_calls = 8;  // the limit on solver calls in one call of longest_unreachable()
  };

  // The problem must outlive the prover.
  explicit BoundProver(const PlanningProblem& problem);
  BoundProver(const BoundProver&) = delete;
  BoundProver& operator=(const BoundProver&) = delete;
  ~BoundProver() = default;

  using IsOver = std::function<bool()>;

  // Returns true if it has proved that no plan has an iteration of at most `seconds`. Returns false if it could not
  // prove this with the given effort, or if `is_over` returned true first.
  bool proves_unreachable(double seconds, const Effort& effort, const IsOver& is_over);
  // How many calls this prover has made so far.
  [[nodiscard]] long solver_calls() const { return solver_calls_; }

 private:
  // A set of plans that the prover excludes separately. All its plans have the microbatch size and the activation
  // checkpointing of the table. Whether links inside a node matter divides them further:
  // * inside_nodes is false: The plans use more than one node of every pool that they use, so messages take the links
  //   between nodes.
  // * inside_nodes is true: The plans use a certain pool on one node only, so the prices count only one node of this
  //   pool. Messages may take the fast links inside a node.
  struct Case {
    RegionalBoundTable* table = nullptr;
    GpuPrices prices;
    bool inside_nodes = false;
  };

  struct Trial {
    const Effort& effort;
    const IsOver& is_over;
  };

  bool proves_unreachable(Case& one, const PlanClass& plans, const Trial& trial, int halvings);

  std::deque<RegionalBoundTable> tables_;
  std::vector<Case> cases_;
  long solver_calls_ = 0;
};

// A range of iteration times in seconds. `unreachable` is proved to be too short for every plan; `reached` is the time
// of a known plan.
struct SecondsRange {
  double unreachable = 0;
  double reached = 0;
};
// Returns the longest time that the prover can prove unreachable within the effort. Stops when the two ends of the
// range are within a quarter of a percent.
double longest_unreachable(BoundProver& prover, SecondsRange known, const BoundProver::Effort& effort,
                           const BoundProver::IsOver& is_over);

}  // namespace sailor
