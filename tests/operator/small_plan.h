// A plan of one stage, for tests of pods and records.
#pragma once

#include <vector>

#include "core/model/plan.h"

namespace sailor::testing {

inline const PoolKey kPool{Zone("us-central1-a"), Accelerator("nvidia-l4"), Provisioning::kSpot};

// A replica of each of these tensor-parallel sizes.
inline Plan plan_of(const std::vector<int>& tensor_parallel_sizes) {
  Plan plan{"tiny-gpt2", 8, 1, {{0, 6, {}}}};
  for (const int tensor_parallel : tensor_parallel_sizes) {
    plan.stages[0].replicas.push_back({kPool, tensor_parallel, 1});
  }
  return plan;
}

}  // namespace sailor::testing
