// GpuPrices: what a GPU of each type is worth, so that all GPUs a plan may have are worth 1 together.
#pragma once

#include <span>
#include <vector>

#include "planner/relaxation/split_solver.h"

namespace sailor {

// GPUs of each type (by index of GroupKind), of these pools.
std::vector<int> gpus_of_types(const World& world, std::span<const int> pools);
std::vector<int> all_pools(const World& world);

class GpuPrices {
 public:
  // `gpus` of each type, `most_gpus` in all.
  GpuPrices(std::vector<int> gpus, int most_gpus);

  // Of a group of each kind.
  [[nodiscard]] std::vector<double> of(std::span<const GroupKind> kinds) const;
  // Makes dearer what the split takes too much of. False if it takes no more than there is of anything: then no prices
  // will do.
  bool adapt(const CheapestSplit& split, std::span<const GroupKind> kinds, double step);

 private:
  void normalize();

  std::vector<int> gpus_;       // of each type
  std::vector<double> prices_;  // of a GPU of each type
  int most_gpus_ = 0;           // in all
};

}  // namespace sailor
