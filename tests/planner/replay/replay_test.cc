// Replays whose results can be computed by hand.
#include "planner/replay/replay.h"

#include <algorithm>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planner/replan/change_rules.h"
#include "planner/replan/migration_cost.h"
#include "simulator/simulator.h"
#include "tests/planner/replay/replays.h"

namespace sailor {
namespace {

using testing::a_cluster;
using testing::a_job;
using testing::a_long_job;
using testing::at_once;
using ::testing::ElementsAre;
using testing::four_nodes;
using ::testing::HasSubstr;
using testing::kSpotPool;
using testing::named_trace;
using testing::replayed;
using testing::trace_of;

// A GPU costs $0.3 per hour, and ten times as much in the second of three times of 1,800 s.
ReplayOptions with_a_dear_time() {
  ReplayOptions options = at_once();
  options.prices[kSpotPool] = {
      {Seconds(0), DollarsPerHour(0.3)}, {Seconds(1800), DollarsPerHour(3)}, {Seconds(3600), DollarsPerHour(0.3)}};
  return options;
}

// Returns how many GPUs the job uses at this time.
int used_gpus_at(const ReplayReport& report, double seconds) {
  const auto period = std::ranges::find_if(report.periods, [&](const ReplayPeriod& candidate) {
    return candidate.from <= Seconds(seconds) && Seconds(seconds) < candidate.to;
  });
  return period == report.periods.end() ? -1 : period->used_gpus;
}

TEST(Replay, OnSteadyCapacityAllTimeButTheStartIsTraining) {
  const auto report = replayed(a_long_job(), trace_of({4}), ReplayPolicy::kLive, at_once());
  ASSERT_EQ(report.periods.size(), 1U);
  EXPECT_EQ(report.paused(), Seconds(60));
  EXPECT_EQ(report.training(), Seconds(940));
  EXPECT_NEAR(report.steps, 940 * report.periods.front().throughput, 1e-6);
  EXPECT_EQ(report.goodput(), 0.94);
  EXPECT_EQ(report.changes, 0);
}

// The plan replicates the model, so each node holds all of the state. Planning takes 0.5 s, and to connect takes 2 s.
TEST(Replay, AJobThatLosesOneOfFourReplicasLosesTheStepInFlight) {
  ReplayOptions options = at_once();
  options.planning = Seconds(0.5);
  const auto report = replayed(a_long_job(), trace_of({4, 3}), ReplayPolicy::kLive, options);
  ASSERT_EQ(report.periods.size(), 2U);
  const double before = 939.5 * report.periods[0].throughput;
  EXPECT_NEAR(report.periods[1].lost_steps, before - std::floor(before), 1e-6);
  EXPECT_EQ(report.periods[1].paused, Seconds(0.5) + kRegroup);
  EXPECT_EQ(report.periods[1].lost_nodes.size(), 1U);
  EXPECT_NEAR(report.steps, std::floor(before) + 997.5 * report.periods[1].throughput, 1e-6);
}

TEST(Replay, AJobWhoseNodesAreAllReplacedGoesBackToItsCheckpoint) {
  const Trace replaced = named_trace({{"a", "b", "c", "d"}, {"e", "f", "g", "h"}});
  const auto report = replayed(a_long_job(), replaced, ReplayPolicy::kLive, at_once());
  const double before = 940 * report.periods[0].throughput;
  EXPECT_NEAR(report.periods[1].lost_steps, before - std::floor(before / 1000) * 1000, 1e-6);
}

TEST(Replay, ANoticeThatIsLongEnoughSavesTheStateOfNodesThatAreAllReplaced) {
  ReplayOptions options = at_once();
  options.notice = Seconds(15);
  const Trace replaced = named_trace({{"a", "b", "c", "d"}, {"e", "f", "g", "h"}});
  EXPECT_EQ(replayed(a_long_job(), replaced, ReplayPolicy::kLive, options).computed,
            replayed(a_long_job(), replaced, ReplayPolicy::kLive, options).steps);
}

// Eight nodes hold different layers of a large model. One of them leaves after 1,000 s.
ReplayReport replayed_large_model(const Trace& trace, Seconds notice) {
  const PoolKey pool = testing::a_key("us-central1-a", "nvidia-tesla-a100", Provisioning::kSpot);
  const ClusterState cluster = a_cluster().pool("us-central1-a", "nvidia-tesla-a100", 9, 4, Provisioning::kSpot);
  JobSpec job = a_long_job();
  job.model = find_model("opt-2.7b").value();
  job.training.sequence_length = 1024;
  job.training.global_batch_size = 128;
  job.checkpoint = {"/checkpoints", 1'000'000, 3};
  ReplayOptions options = at_once();
  options.notice = notice;
  const Simulator simulator;
  return Replay::make(job, cluster, {{pool, trace}}, simulator, options).value().run(ReplayPolicy::kLive).value();
}

// State moves between the nodes that stay as well. That takes longer, and can go on when the other node is gone.
TEST(Replay, ANoticeThatIsLongEnoughForTheStateOfTheNodeThatLeavesSavesIt) {
  const Seconds pause = replayed_large_model(trace_of({8, 7}), Seconds(100)).periods.at(1).paused;
  const auto saved = replayed_large_model(trace_of({8, 7}), pause - Seconds(1));
  EXPECT_EQ(saved.computed, saved.steps);
  const auto lost = replayed_large_model(trace_of({8, 7}), kRegroup + Seconds(1));
  EXPECT_GT(lost.computed - lost.steps, 100);
}

TEST(Replay, ANodeThatJoinsDuringANoticeDoesNotMakeTheJobLoseItsState) {
  const std::vector<std::string> stay{"b", "c", "d", "e", "f", "g", "h", "i"};
  std::vector<std::string> before{"a", "b", "c", "d", "e", "f", "g", "h"};
  Trace trace = named_trace({before, stay});
  before.emplace_back("i");
  trace.changes.insert(trace.changes.begin() + 1, {Seconds(985), 9, before});
  const auto report = replayed_large_model(trace, Seconds(20));
  EXPECT_EQ(report.computed, report.steps);
}

TEST(Replay, ANodeThatReplacesAnotherAtEqualCountIsAChange) {
  const Trace swapped = named_trace({{"a", "b", "c", "d"}, {"a", "b", "d", "e"}});
  const auto report = replayed(a_long_job(), swapped, ReplayPolicy::kLive, at_once());
  ASSERT_EQ(report.periods.size(), 2U);
  EXPECT_THAT(report.periods[1].lost_nodes, ElementsAre("c"));
  EXPECT_GE(report.periods[1].paused, kRegroup);
}

TEST(Replay, TheModeOfTheJobChoosesThePolicy) {
  EXPECT_EQ(policy_of(ElasticityMode::kLive), ReplayPolicy::kLive);
  EXPECT_EQ(policy_of(ElasticityMode::kRestart), ReplayPolicy::kRestart);
  EXPECT_EQ(policy_of(ElasticityMode::kOff), ReplayPolicy::kStatic);
}

// The fourth node receives the whole model from the others.
TEST(Replay, ALargerModelPausesLongerWhenANodeJoins) {
  const auto pause = [](const std::string& model) {
    JobSpec job = a_long_job();
    job.model = find_model(model).value();
    return replayed(job, trace_of({3, 4}), ReplayPolicy::kLive, at_once()).periods.back().paused;
  };
  EXPECT_GE(pause("tiny-gpt2"), kRegroup);
  EXPECT_GT(pause("opt-125m"), pause("tiny-gpt2"));
}

TEST(Replay, ANewNodeIsUsedOnceItHasStarted) {
  ReplayOptions options = at_once();
  options.node_start = Seconds(90);
  const auto report = replayed(a_long_job(), trace_of({3, 4}), ReplayPolicy::kLive, options);
  ASSERT_EQ(report.periods.size(), 2U);
  EXPECT_EQ(report.periods[0].used_gpus, 3);
  EXPECT_EQ(report.periods[1].from, Seconds(1090));
  EXPECT_EQ(report.periods[1].used_gpus, 4);
}

TEST(Replay, ANodeThatIsNoticedBeforeItHasStartedIsNotUsed) {
  ReplayOptions options = at_once();
  options.node_start = Seconds(90);
  options.notice = Seconds(15);
  const Trace brief = named_trace({{"a", "b", "c"}, {"a", "b", "c", "d"}, {"a", "b", "c"}}, 100);
  EXPECT_EQ(replayed(a_long_job(), brief, ReplayPolicy::kLive, options).changes, 0);
}

TEST(Replay, AVoluntaryChangeWaitsForTheCoolDownOfTheOperator) {
  const auto report = replayed(a_long_job(), trace_of({4, 3, 4, 4}, 4), ReplayPolicy::kLive, [] {
    ReplayOptions options = at_once();
    options.restart = Seconds(1);
    return options;
  }());
  ASSERT_EQ(report.periods.size(), 4U);
  EXPECT_EQ(report.periods[2].used_gpus, 3) << "the fourth node is back, but the last change was 4 s ago";
  EXPECT_EQ(report.periods[3].from, Seconds(4) + Seconds(std::chrono::duration<double>(kCoolDown).count()));
  EXPECT_EQ(report.periods[3].used_gpus, 4);
}

TEST(Replay, AStaticJobHasTheSizeThatCompletesTheMostSteps) {
  const auto small = replayed(a_long_job(), trace_of({4, 1, 1, 1, 1, 1}), ReplayPolicy::kStatic, at_once());
  EXPECT_EQ(small.periods.front().used_gpus, 1);
  EXPECT_EQ(small.lost_to(LostTime::kWaiting), Seconds(0));
  const auto large = replayed(a_long_job(), trace_of({4, 4, 4, 4, 4, 1}), ReplayPolicy::kStatic, at_once());
  EXPECT_EQ(large.periods.front().used_gpus, 4);
  EXPECT_EQ(large.lost_to(LostTime::kWaiting), Seconds(1000));
}

TEST(Replay, AStaticJobThatCompletesHasTheSizeThatCompletesFirst) {
  JobSpec job = a_long_job();
  job.training.steps = 10'000;
  const auto alone = replayed(job, trace_of({1}, 1e6), ReplayPolicy::kStatic, at_once());
  const double gap = alone.end.value() / 4;
  const auto report = replayed(job, trace_of({1, 4, 4, 4, 4, 4}, gap), ReplayPolicy::kStatic, at_once());
  EXPECT_TRUE(report.is_done);
  EXPECT_EQ(report.periods.back().used_gpus, 4);
}

// Four nodes at $0.3 for 5,000 s, and the one that is left, idle, for 1,000 s.
TEST(Replay, NodesOfAStaticJobArePaidForWhileItWaits) {
  const auto report = replayed(a_long_job(), trace_of({4, 4, 4, 4, 4, 1}), ReplayPolicy::kStatic, at_once());
  EXPECT_NEAR(report.cost.value(), 0.3 * (4 * 5000 + 1000) / 3600, 1e-9);
  EXPECT_NEAR(report.idle_cost.value(), 0.3 * 1000 / 3600, 1e-9);
}

// A third more speed is worth a pause of 2 s in 100 s, and not one of 60 s.
TEST(Replay, ARestartCountsItsOwnPauseAgainstAChange) {
  ReplayOptions options = at_once();
  options.plan.expected_lifetime = Seconds(100);
  EXPECT_EQ(replayed(a_long_job(), trace_of({3, 4}), ReplayPolicy::kLive, options).changes, 1);
  EXPECT_EQ(replayed(a_long_job(), trace_of({3, 4}), ReplayPolicy::kRestart, options).changes, 0);
}

// The start takes 60 s. The loss after 30 s would only pause the job for 2 s.
TEST(Replay, APauseIsNotCutShortByAnother) {
  ReplayOptions options = at_once();
  const auto report = replayed(a_long_job(), trace_of({4, 3, 3, 3}, 30), ReplayPolicy::kLive, options);
  EXPECT_EQ(report.paused(), Seconds(60));
  EXPECT_EQ(report.training(), Seconds(60));
}

TEST(Replay, AJobWithoutAPlanWaitsWithTheStateThatANodeWasLeftToSave) {
  JobSpec job = a_long_job();
  job.resources.min_gpus = 2;
  const auto survives = replayed(job, trace_of({4, 1, 4}), ReplayPolicy::kLive, at_once());
  EXPECT_EQ(survives.lost_to(LostTime::kWaiting), Seconds(1000));
  EXPECT_LT(survives.computed - survives.steps, 1) << "the node that is left saves the state";
  const auto gone = replayed(job, trace_of({4, 0, 4}), ReplayPolicy::kLive, at_once());
  EXPECT_GT(gone.computed - gone.steps, 1) << "nobody is left to save";
  ReplayOptions noticed = at_once();
  noticed.notice = Seconds(15);
  const auto in_time = replayed(job, trace_of({4, 0, 4}), ReplayPolicy::kLive, noticed);
  EXPECT_EQ(in_time.computed, in_time.steps) << "a checkpoint is written in 10 s";
}

// 2,000 s: the start 60 s, 940 s of steps, and after the loss a restart of 60 s beside 10 s to save. The rest is useful
// but for the part of a step that is computed again.
TEST(Replay, GoodputIsAShareOfTime) {
  const auto report = replayed(a_long_job(), trace_of({4, 3}), ReplayPolicy::kRestart, at_once());
  const double repeated = report.periods[1].lost_steps / report.periods[1].throughput;
  EXPECT_NEAR(report.lost_to(LostTime::kRepeating).value(), repeated, 1e-9);
  EXPECT_NEAR(report.goodput(), (940 + 930 - repeated) / 2000, 1e-9);
}

// Without a checkpoint, all steps are lost with the nodes.
TEST(Replay, StepsThatAreLostAndNeverRepeatedAreNotUseful) {
  JobSpec job = a_long_job();
  job.checkpoint.path.clear();
  const auto at_the_end = replayed(job, trace_of({4, 0}), ReplayPolicy::kLive, at_once());
  EXPECT_EQ(at_the_end.steps, 0);
  EXPECT_NEAR(at_the_end.goodput(), 0, 1e-9);
  EXPECT_NEAR(at_the_end.lost_to(LostTime::kRepeating).value(), 940, 1e-9);
  const auto in_part = replayed(job, trace_of({4, 0, 4}, 200), ReplayPolicy::kLive, at_once());
  EXPECT_NEAR(in_part.goodput() * 600, in_part.steps / in_part.periods.front().throughput, 1e-6);
}

TEST(Replay, VarunaGoesBackToItsPeriodicCheckpoint) {
  const auto report = replayed(a_long_job(), trace_of({4, 3}), ReplayPolicy::kVaruna, at_once());
  const double before = 940 * report.periods[0].throughput;
  EXPECT_NEAR(report.periods[1].lost_steps, before - std::floor(before / 1000) * 1000, 1e-6);
}

TEST(Replay, PeriodicCheckpointsBoundWhatIsLost) {
  JobSpec job = a_long_job();
  job.checkpoint.every_steps = 1'000'000;
  job.checkpoint.every_seconds = 10;
  const auto report = replayed(job, trace_of({4, 2}), ReplayPolicy::kVaruna, at_once());
  EXPECT_LE(report.periods[1].lost_steps, std::ceil(10 * report.periods[0].throughput));
  job.checkpoint.every_seconds.reset();  // so the job has had no checkpoint yet
  EXPECT_NEAR(replayed(job, trace_of({4, 2}), ReplayPolicy::kVaruna, at_once()).periods[1].lost_steps,
              940 * report.periods[0].throughput, 1e-6);
}

// $0.3 for half an hour and $0.6 for another half, of four GPUs.
TEST(Replay, PricesChangeOverTime) {
  ReplayOptions options = at_once();
  options.prices[kSpotPool] = {{Seconds(0), DollarsPerHour(0.3)}, {Seconds(1800), DollarsPerHour(0.6)}};
  const auto report = replayed(a_long_job(), trace_of({4}, 3600), ReplayPolicy::kLive, options);
  EXPECT_NEAR(report.cost.value(), 4 * 0.45, 1e-9);
  EXPECT_EQ(report.idle_cost, Dollars(0));
}

TEST(Replay, NodesThatNoPlanUsesArePaidFor) {
  JobSpec job = a_long_job();
  job.resources.max_gpus = 3;
  const auto report = replayed(job, trace_of({4}), ReplayPolicy::kLive, at_once());
  EXPECT_NEAR(report.cost.value(), 4 * 0.3 * 1000 / 3600, 1e-9);
  EXPECT_NEAR(report.idle_cost.value(), (4 - report.periods[0].used_gpus) * 0.3 * 1000 / 3600, 1e-9);
  EXPECT_EQ(replayed(a_long_job(), trace_of({0}), ReplayPolicy::kLive, at_once()).cost, Dollars(0));
}

TEST(Replay, AJobWhosePlanGetsTooDearMovesToOneThatKeepsTheLimit) {
  JobSpec job = a_long_job();
  job.objective = MaximizeThroughput{std::nullopt, DollarsPerHour(3)};
  const auto live = replayed(job, trace_of({4}, 5400), ReplayPolicy::kLive, with_a_dear_time());
  EXPECT_EQ(used_gpus_at(live, 1000), 4);
  EXPECT_EQ(used_gpus_at(live, 3000), 1);
  EXPECT_EQ(used_gpus_at(live, 5000), 4);
  EXPECT_EQ(live.computed, live.steps) << "no step is lost";
  const auto oracle = replayed(job, trace_of({4}, 5400), ReplayPolicy::kOracle, with_a_dear_time());
  EXPECT_EQ(used_gpus_at(oracle, 3000), 1);
  EXPECT_GE(oracle.steps, live.steps);
}

TEST(Replay, IfNoPlanKeepsTheLimitTheJobTrainsOn) {
  JobSpec job = a_long_job();
  job.objective = MaximizeThroughput{std::nullopt, DollarsPerHour(2)};
  for (const ReplayPolicy policy : {ReplayPolicy::kLive, ReplayPolicy::kOracle}) {
    const auto report = replayed(job, trace_of({4}, 5400), policy, with_a_dear_time());
    EXPECT_EQ(used_gpus_at(report, 3000), 4) << to_string(policy);
  }
}

TEST(Replay, EndsWhenTheJobIsDone) {
  JobSpec job = a_long_job();
  job.training.steps = 10;
  for (const auto policy : {ReplayPolicy::kLive, ReplayPolicy::kOracle}) {
    const auto report = replayed(job, trace_of({4, 4, 2}), policy, at_once());
    EXPECT_TRUE(report.is_done);
    EXPECT_NEAR(report.steps, 10, 1e-9);
    EXPECT_LT(report.end, Seconds(1000));
    EXPECT_EQ(report.periods.size(), 1U);
  }
}

TEST(Replay, AJobThatDoesNotFitTheWholeClusterIsAnError) {
  const JobSpec job = a_job().model("opt-30b").batch(4);
  const Simulator simulator;
  const auto replay = Replay::make(job, four_nodes(), {{kSpotPool, trace_of({4})}}, simulator, {});
  ASSERT_FALSE(replay);
  EXPECT_EQ(replay.error().code, ErrorCode::kInfeasible);
}

TEST(Replay, ATraceOrAPriceOfAMissingPoolIsAnError) {
  const Simulator simulator;
  const JobSpec job = a_long_job();
  const PoolKey missing = testing::a_key("us-west1-a", "nvidia-l4");
  EXPECT_EQ(Replay::make(job, four_nodes(), {{missing, trace_of({4})}}, simulator, {}).error().code,
            ErrorCode::kInvalidArgument);
  ReplayOptions options;
  options.prices[missing] = {{Seconds(0), DollarsPerHour(1)}};
  EXPECT_EQ(Replay::make(job, four_nodes(), {{kSpotPool, trace_of({4})}}, simulator, options).error().code,
            ErrorCode::kInvalidArgument);
}

TEST(Replay, ATraceOfAPoolThatTheJobCannotUseIsSaid) {
  const ClusterState cluster = a_cluster()
                                   .pool("us-central1-a", "nvidia-l4", 4, 1, Provisioning::kSpot)
                                   .pool("us-central1-b", "nvidia-l4", 4, 1, Provisioning::kSpot);
  const Simulator simulator;
  JobSpec job = a_long_job();
  job.resources.zones = {Zone("us-central1-a")};
  const auto other = testing::a_key("us-central1-b", "nvidia-l4", Provisioning::kSpot);
  const auto replay = Replay::make(job, cluster, {{other, trace_of({4, 3})}}, simulator, {});
  EXPECT_THAT(replay->notes(), ElementsAre(HasSubstr("cannot use pool us-central1-b/nvidia-l4/spot")));
}

TEST(Replay, ATraceThatEndsBeforeAnotherIsSaid) {
  const ClusterState cluster = a_cluster()
                                   .pool("us-central1-a", "nvidia-l4", 4, 1, Provisioning::kSpot)
                                   .pool("us-central1-b", "nvidia-l4", 4, 1, Provisioning::kSpot);
  const Simulator simulator;
  const JobSpec job = a_long_job();
  const auto other = testing::a_key("us-central1-b", "nvidia-l4", Provisioning::kSpot);
  const auto replay =
      Replay::make(job, cluster, {{kSpotPool, trace_of({4, 3})}, {other, named_trace({{"a"}})}}, simulator, {});
  EXPECT_THAT(replay->notes(),
              ElementsAre(HasSubstr("lasts for 2000 s, but only 1000 s"), HasSubstr("drawn with seed 1")));
}

}  // namespace
}  // namespace sailor
