// GpuPrices: shadow prices of the GPU types. They replace the limit on the number of GPUs: all GPUs that a plan may
// have are worth 1 together, so a split that costs more than 1 needs more GPUs than there are.
#pragma once

#include <span>
#include <vector>

#include "planner/relaxation/split_solver.h"

namespace sailor {

// The free GPUs of each type in these pools, by index of GroupKind::type.
std::vector<int> gpus_of_types(const PlanningProblem& problem, std::span<const int> pools);

class GpuPrices {
 public:
  // `gpus` of each type; a plan may use at most `most_gpus` of them in all.
  GpuPrices(std::vector<int> gpus, int most_gpus);

  // The price of a group of each kind.
  [[nodiscard]] std::vector<double> of(std::span<const GroupKind> kinds) const;
  // Raises the prices of the types that the split uses too many of, by a factor of at most e^step. False if the split
  // does not use too many of any type: then no other prices help.
  bool adapt(const CheapestSplit& split, std::span<const GroupKind> kinds, double step);

 private:
  void normalize();

  std::vector<int> gpus_;       // of each type
  std::vector<double> prices_;  // of a GPU of each type
  int most_gpus_ = 0;           // in all
};

}  // namespace sailor
