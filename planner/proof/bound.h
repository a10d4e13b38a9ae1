// Certificates: what no plan for a job on a cluster can be better than. docs/planner-bound.md has the proofs.
#pragma once

#include <deque>
#include <functional>

#include "planner/problem/planning_problem.h"
#include "planner/proof/split_bound_solver.h"
#include "planner/relaxation/gpu_prices.h"

namespace sailor {

// No plan, of whatever space, does more iterations in a second. For prices c >= 0 of the types, a layer costs at least
// w_l = min over types g of c_g / r_gl for each sample, where r_gl is the best rate of one GPU of type g on layer l
// over all microbatch sizes and degrees; the GPUs that there are can pay at most sum of N_g c_g a second. So T >= B
// sum_l w_l / sum_g N_g c_g for every c (linear programming duality). The best c is sought. Loose where the fill of the
// pipeline and synchronisation weigh.
double bound_throughput(const World& world);

// No plan, of whatever space, costs less an iteration: GPUs are paid for as long as they work at least, and each layer
// costs least on one type of them. Waiting, synchronisation and traffic come on top.
Dollars bound_cost(const World& world);

// Proves that no plan is as fast as asked, pipeline and synchronisation included.
class Refuter {
 public:
  struct Effort {
    int ways = 1;       // levels of the time that a microbatch is under way, in a program
    int ends = 8;       // levels of the time that a stage leaves to those after it
    int tries = 2;      // of prices, for each class of plans
    int depth = 0;      // how often such a class is halved
    long programs = 8;  // in all
  };

  // The world outlives the refuter.
  explicit Refuter(const World& world);
  Refuter(const Refuter&) = delete;
  Refuter& operator=(const Refuter&) = delete;
  ~Refuter() = default;

  using IsOver = std::function<bool()>;

  // True: no plan has iterations of at most so many seconds. False: not proved, or not in time.
  bool refutes(double seconds, const Effort& effort, const IsOver& is_over);
  [[nodiscard]] long programs() const { return programs_; }  // solved so far: the work done

 private:
  struct Case {  // plans of one setting, that use some pool on one node only, or none
    ProofTable* table = nullptr;
    GpuPrices prices;
    bool inside_nodes = false;
  };

  struct Trial {
    const Effort& effort;
    const IsOver& is_over;
  };

  bool refutes(Case& one, const PlanClass& plans, const Trial& trial, int depth);

  std::deque<ProofTable> tables_;
  std::vector<Case> cases_;
  long programs_ = 0;
};

// The fastest iteration that is not refuted, to a quarter of a per cent, between these: `refuted` is known to be out of
// reach.
struct SecondsRange {
  double refuted = 0;
  double reached = 0;
};
double proved_seconds(Refuter& refuter, SecondsRange known, const Refuter::Effort& effort,
                      const Refuter::IsOver& is_over);

}  // namespace sailor
