// TensorParallelSizes: the smallest and the largest tensor-parallel size of a plan. Changes one by one rarely lead from
// large groups to many small ones, so the search keeps plans of different sizes apart.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "planner/problem/grouped_plan.h"

namespace sailor {

struct TensorParallelSizes {
  int smallest = 1;
  int largest = 1;
  friend auto operator<=>(const TensorParallelSizes&, const TensorParallelSizes&) = default;
};

inline TensorParallelSizes tensor_parallel_sizes(const std::vector<GroupedStage>& stages) {
  TensorParallelSizes sizes{std::numeric_limits<int>::max(), 0};
  for (const GroupedStage& stage : stages) {
    for (const ReplicaGroup& group : stage.groups) {
      sizes.smallest = std::min(sizes.smallest, group.tensor_parallel);
      sizes.largest = std::max(sizes.largest, group.tensor_parallel);
    }
  }
  return sizes;
}

}  // namespace sailor
