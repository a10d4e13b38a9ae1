// Random changes: changes a draft in one of many ways, chosen at random. Local search tries small changes of one stage
// (neighbours.h); these also change several stages at once, by larger amounts.
#pragma once

#include <cstdint>
#include <random>

#include "planner/problem/draft.h"

namespace sailor {

// The same seed gives the same numbers on every machine.
class RandomNumbers {
 public:
  explicit RandomNumbers(std::uint64_t seed) : bits_(seed) {}

  // A number from 0 to `count` - 1.
  int below(int count) { return static_cast<int>(bits_() % static_cast<std::uint64_t>(count)); }
  bool is_one_in(int count) { return below(count) == 0; }
  // A number from 0 to just below 1.
  double fraction() {
    constexpr std::uint64_t kSteps = std::uint64_t{1} << 32;
    return static_cast<double>(bits_() % kSteps) / static_cast<double>(kSteps);
  }

 private:
  std::mt19937_64 bits_;
};

// Makes one of these changes:
// * Layers move from one stage to another, alone or with their share of a group of replicas.
// * Replicas move to another stage, change places with replicas there, or change their tensor-parallel size.
// * Replicas are added or removed.
// * Two stages are merged, or a stage is split. If some GPUs are slow, unused GPUs become a stage.
// * The microbatch size changes.
// Returns false if the change that was drawn is not possible; the draft is then undefined. The draft may need more GPUs
// or memory than there is; the caller checks this.
bool change_randomly(Draft& draft, const PlanningProblem& problem, RandomNumbers& random);

}  // namespace sailor
