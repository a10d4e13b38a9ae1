// Random plans and times, for laws that must hold for all of them. A seed makes a case; tests print it.
#pragma once

#include <random>

#include "core/schedule/schedule.h"
#include "tests/support/builders.h"

namespace sailor::testing {

using Random = std::mt19937_64;

inline int between(Random& random, int low, int high) {
  return low + static_cast<int>(random() % static_cast<std::uint64_t>(high - low + 1));
}

// Returns `parts` whole numbers of at least one that sum up to `sum`.
inline std::vector<int> random_shares(Random& random, int sum, int parts) {
  std::vector<int> shares(static_cast<std::size_t>(parts), 1);
  for (int left = sum - parts; left > 0; --left) {
    ++shares[static_cast<std::size_t>(between(random, 0, parts - 1))];
  }
  return shares;
}

// Returns a plan whose stages differ in their numbers of replicas, and whose replicas differ in their microbatches.
inline Plan a_random_pool_plan(Random& random) {
  const int stages = between(random, 1, 5);
  const int microbatches = between(random, 1, 24);
  Plan plan{"tiny-gpt2", microbatches, 1, {}};
  for (int i = 0; i < stages; ++i) {
    Stage stage{i, i + 1, {}};
    for (const int share : random_shares(random, microbatches, between(random, 1, std::min(5, microbatches)))) {
      stage.replicas.push_back({a_key("us-central1-a", "nvidia-l4"), 1, share});
    }
    plan.stages.push_back(std::move(stage));
  }
  return plan;
}

// Returns speeds that differ by up to a factor of four, and links from free to slower than the passes.
inline ScheduleTimes random_times(Random& random, const Plan& plan) {
  ScheduleTimes times;
  const bool has_one_replica = plan.stages.size() == 1 && plan.stages.front().replicas.size() == 1;
  times.link_classes = has_one_replica ? 1 : 2;
  for (const Stage& stage : plan.stages) {
    auto& replicas = times.replicas.emplace_back();
    for (std::size_t r = 0; r < stage.replicas.size(); ++r) {
      const int forward = between(random, 50, 200);
      replicas.push_back({Nanoseconds(forward), Nanoseconds(2 * forward), between(random, 0, times.link_classes - 1),
                          between(random, 0, 2) == 0 ? between(random, 1, 4) : 1'000'000});
    }
    if (times.replicas.size() == plan.stages.size()) continue;  // the last sends nothing on
    auto& links = times.links.emplace_back();
    for (int i = 0; i < 4; ++i)
      links.push_back({Nanoseconds(between(random, 0, 300)), Nanoseconds(between(random, 0, 150))});
  }
  return times;
}

}  // namespace sailor::testing
