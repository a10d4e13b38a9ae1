// Random small worlds: a job and a cluster of at most two pools, for laws of the planner and for brute force.
#pragma once

#include "core/model/slow_nodes.h"
#include "tests/support/random_plans.h"

namespace sailor::testing {

struct SmallWorld {
  JobSpec job;
  ClusterState cluster;
};

inline Objective random_objective(Random& random) {
  switch (between(random, 0, 3)) {
    case 0:
      return MaximizeThroughput{};
    case 1:
      return MaximizeThroughput{Dollars(1e-6 * between(random, 1, 200)), std::nullopt};
    case 2:
      return MaximizeThroughput{std::nullopt, DollarsPerHour(between(random, 1, 12))};
    default:
      return MinimizeCost{between(random, 0, 1) == 0 ? std::nullopt : std::optional(0.1 * between(random, 1, 60))};
  }
}

// Returns a world with at most `most_gpus` GPUs.
inline SmallWorld a_small_world(std::uint64_t seed, int most_gpus) {
  Random random(seed);
  const std::vector<std::string> types = {"nvidia-tesla-t4", "nvidia-l4", "nvidia-tesla-v100", "nvidia-tesla-a100"};
  const std::vector<std::string> zones = {"us-central1-a", "us-central1-b", "us-west1-b"};
  SmallWorld world;
  ClusterBuilder cluster;
  const int pools = between(random, 1, 2);
  for (int i = 0; i < pools; ++i) {
    const int gpus = between(random, 1, 2);
    const int nodes = between(random, 1, std::max(1, most_gpus / pools / gpus));
    cluster
        .pool(zones[static_cast<std::size_t>(between(random, 0, 2))],
              types[static_cast<std::size_t>(between(random, 0, 3))], nodes, gpus,
              i == 0 ? Provisioning::kSpot : Provisioning::kOnDemand)
        .price(0.5 * between(random, 1, 8));
    if (between(random, 0, 3) == 0) cluster.whole_nodes();
  }
  JobBuilder job = a_job().blocks(between(random, 2, 4)).batch(1 << between(random, 1, 4)).microbatch_sizes({1, 2});
  job.objective(random_objective(random));
  if (between(random, 0, 3) == 0) job.max_gpus(between(random, 1, most_gpus));
  world.job = job;
  world.cluster = cluster;
  return world;
}

// Makes one or all GPUs of a node slow, by a random grade.
inline void make_a_node_slow(SmallWorld& world, std::uint64_t seed) {
  Random random(seed);
  const auto index = static_cast<std::size_t>(between(random, 0, static_cast<int>(world.cluster.pools.size()) - 1));
  const Pool& pool = world.cluster.pools[index];
  const int gpus = between(random, 1, pool.gpus_per_node);
  const std::vector<int> grades(static_cast<std::size_t>(gpus), between(random, 1, kUnusableGrade));
  world.cluster = with_slow_nodes(world.cluster, {{pool.key, grades}}).value();
}

}  // namespace sailor::testing
