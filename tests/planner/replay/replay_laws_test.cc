// Laws that hold for all policies, on random traces.
#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "tests/planner/replay/replays.h"

namespace sailor {
namespace {

using testing::a_long_job;
using testing::at_once;
using testing::four_nodes;
using testing::kSpotPool;
using testing::trace_of;

struct RandomWorld {
  Trace trace;
  ReplayOptions options;
};

RandomWorld random_world(std::mt19937_64& draw) {
  std::vector<int> nodes;
  for (int i = 0; i < 40; ++i) nodes.push_back(static_cast<int>(draw() % 5));
  RandomWorld world{trace_of(nodes, 5.0 * std::pow(4.0, static_cast<double>(draw() % 5))), at_once()};
  world.options.restart = Seconds(static_cast<double>(draw() % 90));
  world.options.planning = Seconds(0.5 * static_cast<double>(draw() % 3));
  world.options.node_start = Seconds(static_cast<double>(draw() % 60));
  world.options.notice = Seconds(static_cast<double>(draw() % 30));
  world.options.seed = draw();
  return world;
}

TEST(ReplayLaws, NoPolicyCompletesMoreStepsThanTheOracle) {
  const Simulator simulator;
  const JobSpec job = a_long_job();
  std::mt19937_64 draw(7);
  for (int i = 0; i < 60; ++i) {
    const RandomWorld world = random_world(draw);
    Replay replay = Replay::make(job, four_nodes(), {{kSpotPool, world.trace}}, simulator, world.options).value();
    const double most = replay.run(ReplayPolicy::kOracle).value().steps;
    for (const ReplayPolicy policy : kAllReplayPolicies) {
      EXPECT_LE(replay.run(policy).value().steps, most * (1 + 1e-9)) << "world " << i << ", " << to_string(policy);
    }
  }
}

TEST(ReplayLaws, EverySecondIsUsefulOrLostToOneCause) {
  const Simulator simulator;
  const JobSpec job = a_long_job();
  std::mt19937_64 draw(8);
  for (int i = 0; i < 20; ++i) {
    const RandomWorld world = random_world(draw);
    Replay replay = Replay::make(job, four_nodes(), {{kSpotPool, world.trace}}, simulator, world.options).value();
    for (const ReplayPolicy policy : kAllReplayPolicies) {
      const ReplayReport report = replay.run(policy).value();
      Seconds sum = report.useful;
      for (const auto& [cause, time] : report.lost) sum += time;
      EXPECT_NEAR(sum.value(), world.trace.end.value(), 1e-6) << to_string(policy);
      EXPECT_LE(report.steps, report.computed);
      for (const ReplayPeriod& period : report.periods) EXPECT_LE(period.used_gpus, period.available_gpus);
    }
  }
}

TEST(ReplayLaws, APolicyPlaysAloneAsItPlaysAmongOthers) {
  const Simulator simulator;
  const JobSpec job = a_long_job();
  std::mt19937_64 draw(9);
  const RandomWorld world = random_world(draw);
  const auto make = [&] {
    return Replay::make(job, four_nodes(), {{kSpotPool, world.trace}}, simulator, world.options).value();
  };
  Replay all = make();
  for (const ReplayPolicy policy : kAllReplayPolicies) {
    Replay alone = make();
    EXPECT_EQ(all.run(policy).value().steps, alone.run(policy).value().steps) << to_string(policy);
  }
}

}  // namespace
}  // namespace sailor
