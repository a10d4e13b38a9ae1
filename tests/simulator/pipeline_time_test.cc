// Compares the closed form with the schedule that the trainer executes.
#include "simulator/pipeline_time.h"

#include <cmath>
#include <iostream>

#include <gtest/gtest.h>

#include "core/schedule/make_schedule.h"
#include "core/schedule/schedule.h"
#include "tests/support/random_plans.h"

namespace sailor {
namespace {

using testing::a_random_pool_plan;
using testing::between;
using testing::Random;

// Times that are balanced as in the planner's plans: the fewer microbatches a replica has, the longer its pass takes.
ScheduleTimes balanced_times(Random& random, const Plan& plan, int link) {
  ScheduleTimes times = times_from_shares(plan);
  for (auto& stage : times.replicas) {
    const double slower = 1 + 0.1 * between(random, 0, 3);
    for (ReplicaTimes& replica : stage) {
      replica.forward = Nanoseconds(static_cast<std::int64_t>(static_cast<double>(replica.forward.count()) * slower));
      replica.backward = 2 * replica.forward;
    }
  }
  const Nanoseconds pass = times.replicas[0][0].forward;
  for (auto& boundary : times.links) boundary = {LinkTimes{pass * link / 20, pass * link / 10}};
  return times;
}

std::vector<StageTiming> timings(const Plan& plan, const ScheduleTimes& times) {
  const auto caps = in_flight_caps(plan, times, SchedulePolicy::kFlow);
  std::vector<StageTiming> stages(plan.stages.size());
  for (std::size_t i = 0; i < stages.size(); ++i) {
    if (i + 1 < stages.size()) {
      const LinkTimes& link = times.links[i].front();
      stages[i].links.assign(plan.stages[i].replicas.size() * plan.stages[i + 1].replicas.size(),
                             {static_cast<double>(link.latency.count()), static_cast<double>(link.occupancy.count())});
    }
    for (std::size_t r = 0; r < plan.stages[i].replicas.size(); ++r) {
      const ReplicaTimes& replica = times.replicas[i][r];
      stages[i].groups.push_back({static_cast<double>(replica.forward.count()),
                                  static_cast<double>(replica.backward.count()), 0,
                                  plan.stages[i].replicas[r].microbatches, 1, caps[i][r]});
    }
  }
  set_means(stages, plan.microbatches());
  return stages;
}

TEST(PipelineTime, ClosedFormIsNearTheScheduleOnRandomPools) {
  double sum = 0;
  int cases = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Random random(seed);
    const Plan plan = a_random_pool_plan(random);
    const ScheduleTimes times = balanced_times(random, plan, between(random, 0, 5));
    const double exact = static_cast<double>(make_schedule(plan, times, SchedulePolicy::kFlow).duration.count());
    const double error = std::abs(pipeline_time(timings(plan, times)) / exact - 1);
    EXPECT_LT(error, 0.5) << "seed " << seed;
    sum += error;
    ++cases;
  }
  std::cout << "mean difference of the closed form from the schedule: " << 100 * sum / cases << " %\n";
  EXPECT_LT(sum / cases, 0.07);
}

// The last stage has its gradients as soon as its activations have arrived, so one microbatch in flight keeps it busy.
TEST(PipelineTime, ALastStageNeverWaitsForGradients) {
  std::vector<StageTiming> stages(2);
  stages[0].groups = {{1, 2, 0, 8, 1, 8}};
  stages[0].links = {{0, 0}, {0, 0}};
  stages[1].groups = {{2, 4, 0, 4, 2, 1}};
  set_means(stages, 8);
  const double uneven_elsewhere = 0.05 * (1 + 2);
  const double caps_are_ample = std::cbrt(24 * 24 * 24 + std::pow(3 + 6 + 0.1 * 6, 3));
  EXPECT_NEAR(pipeline_time(stages), std::max(3 + 24 + uneven_elsewhere, caps_are_ample + 0.05 * 6), 1e-9);
}

TEST(PipelineTime, OneStageTakesTheTimeOfItsBusiestReplica) {
  std::vector<StageTiming> stages(1);
  stages[0].groups = {{1, 2, 0, 4, 1, 1}, {2, 4, 0, 3, 1, 1}};
  set_means(stages, 7);
  EXPECT_DOUBLE_EQ(pipeline_time(stages), 18);
}

}  // namespace
}  // namespace sailor
