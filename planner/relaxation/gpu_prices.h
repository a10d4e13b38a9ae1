// GpuPrices: shadow prices of the GPU types. They replace the limit on the number of GPUs in the relaxed problem. They
// are scaled so that all GPUs that a plan may use are worth at most 1 together. A split that costs more than 1
// therefore needs more GPUs than are available.
#pragma once

#include <span>
#include <vector>

#include "planner/relaxation/split_solver.h"

namespace sailor {

// Returns the number of free GPUs of each type in these pools, by GroupKind::type.
std::vector<int> gpus_of_types(const PlanningProblem& problem, std::span<const int> pools);

// Returns the sum of the prices of the `most_gpus` most expensive GPUs. `prices` and `gpus` are the price of one GPU
// and the number of GPUs, by type.
double worth_of_gpus(std::span<const double> prices, std::span<const int> gpus, int most_gpus);

// The first step for GpuPrices::adapt(), and every further one relative to the step before.
inline constexpr double kFirstPriceStep = 0.7;
inline constexpr double kPriceStepFactor = 0.75;

class GpuPrices {
 public:
  // `gpus` are the available GPUs of each type. A plan may use at most `most_gpus` in all.
  GpuPrices(std::vector<int> gpus, int most_gpus);

  // Returns the price of a tensor-parallel group of each kind.
  [[nodiscard]] std::vector<double> of(std::span<const GroupKind> kinds) const;
  // Raises the prices of the types of which the split uses more GPUs than there are, and lowers those of which it uses
  // fewer. Each price changes by a factor between e^-step and e^step; then all are scaled again. Returns false if the
  // available GPUs suffice for the split, because then no prices exclude it.
  bool adapt(const CheapestSplit& split, std::span<const GroupKind> kinds, double step);

 private:
  void normalize();

  std::vector<int> gpus_;       // [type]: available GPUs
  std::vector<double> prices_;  // [type]: the price of one GPU
  int most_gpus_ = 0;           // the most GPUs that a plan may use, of all types together
};

}  // namespace sailor
