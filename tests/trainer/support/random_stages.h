// Random splits of the tiny model's layers into stages, for tests of what holds for any plan.
#pragma once

#include <random>
#include <vector>

#include "tests/trainer/support/assignments.h"

namespace sailor::trainer::testing {

struct StageLimits {
  int most_replicas;
  int most_tensor_parallel;
  int microbatches;  // of each replica
};

inline std::vector<StageShares> random_stages(std::mt19937& random, const StageLimits& limits) {
  const auto number = [&](int least, int most) { return std::uniform_int_distribution(least, most)(random); };
  const int layers = tiny_model().layer_count();
  std::vector<StageShares> stages;
  for (int first = 0; first < layers;) {
    StageShares stage{first, number(first + 1, layers), {}, {}};
    for (int replica = number(1, limits.most_replicas); replica > 0; --replica) {
      stage.microbatches.push_back(limits.microbatches);
      stage.tensor_parallel_sizes.push_back(number(1, limits.most_tensor_parallel));
    }
    first = stage.last_layer;
    stages.push_back(std::move(stage));
  }
  return stages;
}

}  // namespace sailor::trainer::testing
