// Certificates: what no plan for a job on a cluster can be better than. docs/planner.md has the proofs.
#pragma once

#include <functional>
#include <span>

#include "planner/gpu_prices.h"
#include "planner/world.h"

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
    int levels = 32;     // of time, in a program
    int tries = 6;       // of prices, for each range of synchronisation times
    int depth = 4;       // how often such a range is halved
    long programs = 60;  // in all
  };

  // The world and its tables outlive the refuter.
  Refuter(const World& world, std::span<const KindTable> tables);

  // True: no plan has iterations of at most so many seconds. False: not proved.
  bool refutes(double seconds, const Effort& effort);
  [[nodiscard]] long programs() const { return programs_; }  // solved so far: the work done

 private:
  struct Case {  // plans of one setting, that use one pool on one node only, or none
    const KindTable* table = nullptr;
    GpuPrices prices;
    bool inside_nodes = false;
  };
  struct Slack {  // of a step, between the last backward pass and its end
    double least = 0;
    double most = 0;
  };

  bool refutes(Case& one, double seconds, Slack slack, const Effort& effort, int depth);
  std::optional<CheapestSplit> unrefuted(Case& one, const TimeLimits& limits, const Effort& effort);

  std::vector<Case> cases_;
  long programs_ = 0;
};

// The fastest iteration that is not refuted, to a per cent, between these: `refuted` is known to be out of reach.
struct SecondsRange {
  double refuted = 0;
  double reached = 0;
};
double proved_seconds(Refuter& refuter, SecondsRange known, const Refuter::Effort& effort,
                      const std::function<bool()>& is_over);

}  // namespace sailor
