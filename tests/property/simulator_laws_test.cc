// Laws of estimates that hold for every plan, tested with random plans on random clusters.
#include <algorithm>

#include <gtest/gtest.h>

#include "simulator/plan_details.h"
#include "simulator/simulator.h"
#include "tests/support/random_plans.h"

namespace sailor {
namespace {

using testing::a_cluster;
using testing::a_job;
using testing::a_key;
using testing::between;
using testing::Random;

constexpr int kPlans = 150;

struct World {
  JobSpec job;
  ClusterState cluster;
  Plan plan;
};

// Returns a world with up to four stages, whose replicas come from three pools in two zones. One world in four has
// zones of two regions.
World a_world(std::uint64_t seed, const std::string& large) {
  Random random(seed);
  const std::string other_zone = between(random, 0, 3) == 0 ? "us-west1-b" : "us-central1-b";
  World world{.job = a_job().model("opt-350m").sequence_length(2048).batch(64),
              .cluster = a_cluster()
                             .pool("us-central1-a", large, 16, 4)
                             .pool("us-central1-a", "nvidia-l4", 16, 8)
                             .pool(other_zone, large, 16, 4),
              .plan = {}};
  const PoolKey pools[] = {a_key("us-central1-a", large), a_key("us-central1-a", "nvidia-l4"),
                           a_key(other_zone, large)};
  const int microbatch_size = 1 << between(random, 0, 3);
  world.plan = {world.job.model.name, 64, microbatch_size, {}};
  const int stages = between(random, 1, 4);
  int first = 0;
  for (int i = 0; i < stages; ++i) {
    const int last = i + 1 == stages ? world.job.model.layer_count() : first + between(random, 1, 26 / stages);
    Stage stage{first, last, {}};
    for (const int share : testing::random_shares(random, 64 / microbatch_size, between(random, 1, 6))) {
      const PoolKey& pool = pools[static_cast<std::size_t>(between(random, 0, 2))];
      stage.replicas.push_back({pool, 1 << between(random, 0, 1), share});
    }
    world.plan.stages.push_back(std::move(stage));
    first = last;
  }
  return world;
}

Estimate estimate(const World& world) { return Simulator().estimate(world.job, world.cluster, world.plan).value(); }
Estimate simulated(const World& world) { return Simulator().simulate(world.job, world.cluster, world.plan).value(); }

bool has_memory(const Estimate& estimate) {
  return std::ranges::none_of(estimate.violations,
                              [](const std::string& one) { return one.find("of memory on") != std::string::npos; });
}

// Both A100s compute alike; the larger one reads its memory faster as well.
TEST(SimulatorLaws, MoreMemoryNeverMakesAPlanInfeasible) {
  int fitting = 0;
  for (std::uint64_t seed = 1; seed <= kPlans; ++seed) {
    const bool fits = has_memory(estimate(a_world(seed, "nvidia-tesla-a100")));
    fitting += fits ? 1 : 0;
    EXPECT_TRUE(!fits || has_memory(estimate(a_world(seed, "nvidia-a100-80gb")))) << "seed " << seed;
  }
  EXPECT_GT(fitting, kPlans / 4);
  EXPECT_LT(fitting, kPlans);
}

TEST(SimulatorLaws, CostsAddUp) {
  for (std::uint64_t seed = 1; seed <= kPlans; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const World world = a_world(seed, "nvidia-tesla-a100");
    const Estimate whole = simulated(world);
    const PlanDetails parts = Simulator().details(world.job, world.cluster, world.plan).value();
    Dollars gpus(0);
    for (const PoolCharge& charge : parts.charges) gpus += charge.cost;
    Dollars traffic(0);
    for (const ZoneTraffic& one : parts.traffic) traffic += one.cost;
    EXPECT_NEAR(gpus.value(), whole.gpu_cost_per_iteration.value(), 1e-9 * gpus.value());
    EXPECT_NEAR(traffic.value(), whole.traffic_cost_per_iteration.value(), 1e-9 * traffic.value() + 1e-15);
    EXPECT_EQ(whole.cost_per_iteration(), whole.gpu_cost_per_iteration + whole.traffic_cost_per_iteration);
  }
}

TEST(SimulatorLaws, ReplicasMayBeListedInAnyOrder) {
  for (std::uint64_t seed = 1; seed <= kPlans; ++seed) {
    World world = a_world(seed, "nvidia-tesla-a100");
    const Estimate before = estimate(world);
    for (Stage& stage : world.plan.stages) std::ranges::reverse(stage.replicas);
    const Estimate after = estimate(world);
    EXPECT_EQ(after, before) << "seed " << seed;
  }
}

TEST(SimulatorLaws, TheEstimatedTimeIsThatOfTheStepTimingAndTheSumOfItsParts) {
  for (std::uint64_t seed = 1; seed <= kPlans; ++seed) {
    const World world = a_world(seed, "nvidia-tesla-a100");
    const StepTiming step = Simulator().step_timing(world.job, world.cluster, world.plan).value();
    const Estimate whole = simulated(world);
    ASSERT_NEAR(whole.iteration.value(), static_cast<double>(step.end().count()) * 1e-9, 1e-12) << "seed " << seed;
    const TimeBreakdown& time = whole.time;
    const Seconds parts = time.compute + time.bubble + time.point_to_point + time.gradient_sync + time.update;
    ASSERT_NEAR(parts.value(), whole.iteration.value(), 1e-12) << "seed " << seed;
    for (const Seconds part : {time.bubble, time.point_to_point, time.gradient_sync, time.update}) {
      ASSERT_GE(part.value(), -1e-9) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace sailor
