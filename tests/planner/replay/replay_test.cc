// Replays whose results can be computed by hand, and laws of all replays.
#include "planner/replay/replay.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simulator/simulator.h"
#include "tests/support/builders.h"

namespace sailor {
namespace {

using testing::a_cluster;
using testing::a_job;
using testing::a_key;

const PoolKey kPool = a_key("us-central1-a", "nvidia-l4", Provisioning::kSpot);

// Returns a trace in which each number of nodes lasts for `gap` seconds.
Trace trace_of(const std::vector<int>& nodes, double gap = 1000) {
  Trace trace;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    trace.changes.push_back({Seconds(gap * static_cast<double>(i)), nodes[i]});
  }
  trace.end = Seconds(gap * static_cast<double>(nodes.size()));
  return trace;
}

JobSpec a_long_job() {
  JobSpec job = a_job().batch(64);
  job.training.steps = 1'000'000'000;
  job.checkpoint = {"/checkpoints", 1000, 3};
  return job;
}

ClusterState four_nodes() {
  return a_cluster().pool("us-central1-a", "nvidia-l4", 4, 1, Provisioning::kSpot).price(0.3);
}

ReplayReport replayed(const JobSpec& job, const Trace& trace, ReplayPolicy policy) {
  ReplayOptions options;
  options.policy = policy;
  const Simulator simulator;
  return replay(job, four_nodes(), {{kPool, trace}}, simulator, options).value();
}

TEST(Replay, OnSteadyCapacityAllTimeButTheStartIsTraining) {
  const auto report = replayed(a_long_job(), trace_of({4}), ReplayPolicy::kLive);
  ASSERT_EQ(report.periods.size(), 1U);
  EXPECT_EQ(report.paused, Seconds(60));
  EXPECT_EQ(report.training, Seconds(940));
  EXPECT_NEAR(report.steps, 940 * report.periods.front().throughput, 1e-6);
  EXPECT_EQ(report.goodput(), 1.0);
  EXPECT_EQ(report.changes, 0);
}

TEST(Replay, TimeIsTrainingPausedOrWaitingAndNothingElse) {
  for (const auto policy : {ReplayPolicy::kLive, ReplayPolicy::kRestart, ReplayPolicy::kStatic}) {
    const auto report = replayed(a_long_job(), trace_of({4, 2, 0, 3, 4, 1}), policy);
    EXPECT_NEAR((report.training + report.paused + report.waiting).value(), 6000, 1e-9) << to_string(policy);
    EXPECT_EQ(report.end, Seconds(6000));
    EXPECT_LE(report.steps, report.computed);
  }
}

TEST(Replay, NoPeriodUsesMoreGpusThanAreAvailable) {
  for (const auto policy : {ReplayPolicy::kLive, ReplayPolicy::kRestart, ReplayPolicy::kStatic}) {
    for (const ReplayPeriod& period : replayed(a_long_job(), trace_of({4, 2, 0, 3, 9, 1}), policy).periods) {
      EXPECT_LE(period.used_gpus, period.available_gpus) << to_string(policy);
    }
  }
}

TEST(Replay, LiveLosesAtMostOneStepAndARestartLosesAllSinceTheCheckpoint) {
  const Trace loss = trace_of({4, 2});
  const auto live = replayed(a_long_job(), loss, ReplayPolicy::kLive);
  EXPECT_LT(live.computed - live.steps, 1);
  const auto restart = replayed(a_long_job(), loss, ReplayPolicy::kRestart);
  EXPECT_GT(restart.computed - restart.steps, 1);
  EXPECT_LE(restart.computed - restart.steps, 1000);
  EXPECT_GT(live.steps, restart.steps);
}

TEST(Replay, ARestartLosesNoMoreThanCheckpointsByTimeAllow) {
  JobSpec job = a_long_job();
  job.checkpoint.every_steps = 1'000'000;
  job.checkpoint.every_seconds = 10;
  const auto report = replayed(job, trace_of({4, 2}), ReplayPolicy::kRestart);
  EXPECT_LE(report.periods[1].lost_steps, std::ceil(10 * report.periods[0].throughput));
  job.checkpoint.every_seconds.reset();  // so the job has had no checkpoint yet
  EXPECT_NEAR(replayed(job, trace_of({4, 2}), ReplayPolicy::kRestart).periods[1].lost_steps,
              940 * report.periods[0].throughput, 1e-6);
}

TEST(Replay, AStaticJobWaitsWhileANodeOfItsPlanIsMissing) {
  const auto report = replayed(a_long_job(), trace_of({4, 3, 4}), ReplayPolicy::kStatic);
  EXPECT_EQ(report.waiting, Seconds(1000));
  EXPECT_EQ(report.paused, Seconds(120)) << "it starts twice";
  EXPECT_EQ(report.periods[1].used_gpus, 0);
}

TEST(Replay, WithoutCheckpointsARestartBeginsAtStepZero) {
  JobSpec job = a_long_job();
  job.checkpoint.path.clear();
  const auto report = replayed(job, trace_of({4, 2, 2}), ReplayPolicy::kRestart);
  EXPECT_NEAR(report.periods[1].lost_steps, 940 * report.periods[0].throughput, 1e-6);
}

TEST(Replay, WaitingCostsNothing) {
  EXPECT_EQ(replayed(a_long_job(), trace_of({0}), ReplayPolicy::kLive).cost, Dollars(0));
  const auto report = replayed(a_long_job(), trace_of({4}), ReplayPolicy::kLive);
  EXPECT_NEAR(report.cost.value(), 4 * 0.3 * 1000 / 3600, 1e-9) << "paused or not, the GPUs are paid for";
}

TEST(Replay, EndsWhenTheJobIsDone) {
  JobSpec job = a_long_job();
  job.training.steps = 10;
  const auto report = replayed(job, trace_of({4, 4, 2}), ReplayPolicy::kLive);
  EXPECT_TRUE(report.is_done);
  EXPECT_NEAR(report.steps, 10, 1e-9);
  EXPECT_LT(report.end, Seconds(1000));
  EXPECT_EQ(report.periods.size(), 1U);
}

TEST(Replay, AStaticPlanThatIsNotFeasibleAtAllIsAnError) {
  const JobSpec job = a_job().model("opt-30b").batch(4);
  const Simulator simulator;
  ReplayOptions options;
  options.policy = ReplayPolicy::kStatic;
  const auto report = replay(job, four_nodes(), {{kPool, trace_of({4})}}, simulator, options);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, ErrorCode::kInfeasible);
}

TEST(Replay, ATraceOfAMissingPoolIsAnError) {
  const Simulator simulator;
  const auto report =
      replay(a_long_job(), four_nodes(), {{a_key("us-west1-a", "nvidia-l4"), trace_of({4})}}, simulator, {});
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace sailor
