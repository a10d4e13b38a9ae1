// Tests the event simulation in cases that can be followed by hand.
#include "simulator/step_timing.h"

#include <map>

#include <gtest/gtest.h>

#include "core/schedule/make_schedule.h"
#include "core/schedule/one_forward_one_backward.h"
#include "tests/support/builders.h"
#include "tests/support/random_plans.h"

namespace sailor {
namespace {

using testing::a_job;
using testing::a_key;
using testing::a_random_pool_plan;
using testing::an_even_plan;
using testing::Random;
using testing::random_times;

const PoolKey kPool = a_key("us-central1-a", "nvidia-l4");

// Every stage has a forward pass of 10, a backward pass of 20, and messages of `occupancy` and `latency`.
ScheduleTimes times_of(const Plan& plan, int occupancy, int latency) {
  ScheduleTimes times;
  for (const Stage& stage : plan.stages) {
    times.replicas.emplace_back(stage.replicas.size(), ReplicaTimes{Nanoseconds(10), Nanoseconds(20)});
  }
  times.links.assign(plan.stages.size(), {LinkTimes{Nanoseconds(latency), Nanoseconds(occupancy)}});
  return times;
}

TEST(StepTiming, EqualPipelinesOverFreeLinksTakeTheTextbooksTime) {
  const Plan plan = an_even_plan(a_job().batch(8), kPool, 3, 1, 1);
  const StepTiming timing = time_step(*deepspeed_schedule(plan), times_of(plan, 0, 0), {.receives_block = true});
  EXPECT_EQ(timing.end(), Nanoseconds((8 + 3 - 1) * 30));
}

TEST(StepTiming, OneMicrobatchMakesItsWayDownAndUp) {
  const Plan plan = an_even_plan(a_job().batch(1), kPool, 3, 1, 1);
  const StepTiming timing = time_step(*deepspeed_schedule(plan), times_of(plan, 5, 2), {.receives_block = true});
  EXPECT_EQ(timing.end(), Nanoseconds(3 * 30 + 4 * 7));
  EXPECT_EQ(timing.passes_done.back(), Nanoseconds(3 * 10 + 2 * 7 + 20))
      << "the last stage is done when its gradient leaves";
}

TEST(StepTiming, ASenderWaitsForThePartOfAMessageThatNoBufferHolds) {
  const Plan plan = an_even_plan(a_job().batch(1), kPool, 2, 1, 1);
  const StepTiming timing =
      time_step(*deepspeed_schedule(plan), times_of(plan, 8, 0), {.receives_block = true, .held = {0.5}});
  EXPECT_EQ(timing.passes_done.back(), Nanoseconds(10 + 8 + 10 + 20 + 4));
}

TEST(StepTiming, MessagesToOneReplicaQueueAtItsNic) {
  Plan plan = an_even_plan(a_job().batch(2), kPool, 2, 2, 1);
  plan.stages[1].replicas = {{kPool, 1, 2}};
  const ScheduleTimes times = times_of(plan, 100, 0);
  const Schedule schedule = make_schedule(plan, times, SchedulePolicy::kFlow);
  const StepTiming timing = time_step(schedule, times, {});
  ASSERT_EQ(timing.messages.size(), 4U);
  EXPECT_EQ(timing.messages[0].end, Nanoseconds(110));
  EXPECT_EQ(timing.messages[1].start, Nanoseconds(10)) << "the NIC of its sender is idle";
  EXPECT_EQ(timing.messages[1].end, Nanoseconds(210)) << "the receiver's is not";
}

TEST(StepTiming, AMessageThatWaitsForItsReceiverHoldsUpNobodyElse) {
  Plan plan = an_even_plan(a_job().batch(4), kPool, 2, 2, 1);
  plan.stages[0].replicas = {{kPool, 1, 3}, {kPool, 1, 1}};
  plan.stages[1].replicas = {{kPool, 1, 2}, {kPool, 1, 2}};
  Schedule schedule;
  schedule.routes = {{0, 1, 0, 0}, {0, 0, 1, 1}};
  const auto sends = [](std::vector<std::pair<int, int>> messages) {
    ReplicaSchedule replica;
    for (const auto& [microbatch, to] : messages) {
      replica.operations.push_back({OperationKind::kSendActivation, microbatch, to});
    }
    return replica;
  };
  schedule.replicas = {{sends({{0, 0}, {2, 1}}), sends({{1, 0}})}, {{}, {}}};
  ScheduleTimes times = times_of(plan, 100, 0);
  const StepTiming timing = time_step(schedule, times, {});
  ASSERT_EQ(timing.messages.size(), 3U);
  std::map<int, TimedMessage> of;
  for (const TimedMessage& message : timing.messages) of[message.microbatch] = message;
  EXPECT_EQ(of.at(1).end, Nanoseconds(200)) << "the NIC of its receiver is busy";
  EXPECT_EQ(of.at(2).start, Nanoseconds(100)) << "once the NIC of its sender is idle";
  EXPECT_EQ(of.at(2).end, Nanoseconds(200));
}

TEST(StepTiming, StagesReduceTheirGradientsWhenTheyAreDoneAndThenUpdate) {
  const Plan plan = an_even_plan(a_job().batch(4), kPool, 2, 2, 1);
  const Execution execution{.all_reduce = {Nanoseconds(7), Nanoseconds(500)},
                            .update = {Nanoseconds(3), Nanoseconds(1)}};
  const StepTiming timing = time_step(*deepspeed_schedule(plan), times_of(plan, 0, 0), execution);
  EXPECT_EQ(timing.updated[0], timing.passes_done[0] + Nanoseconds(10));
  EXPECT_EQ(timing.end(), timing.passes_done[1] + Nanoseconds(501))
      << "the last stage began earlier, its ring is slower";
}

// The last backward pass takes 20. It completes four buckets, the last one at its end.
TEST(StepTiming, GradientsFollowTheLastBackwardPassBucketByBucket) {
  const Plan plan = an_even_plan(a_job().batch(8), kPool, 1, 2, 1);
  const ScheduleTimes times = times_of(plan, 0, 0);
  const Schedule schedule = make_schedule(plan, times, SchedulePolicy::kFlow);
  const auto exposed = [&](int all_reduce, int buckets) {
    const StepTiming timing =
        time_step(schedule, times, {.all_reduce = {Nanoseconds(all_reduce)}, .buckets = {buckets}});
    return (timing.synced[0] - timing.passes_done[0]).count();
  };
  EXPECT_EQ(exposed(16, 1), 16) << "one bucket waits for the whole pass";
  EXPECT_EQ(exposed(16, 4), 4) << "a quick one: only the last bucket is left";
  EXPECT_EQ(exposed(20, 4), 5);
  EXPECT_EQ(exposed(80, 4), 80 - 15) << "a slow one: all but the time from the first bucket on";
}

// The replicas are not done at the same time, and a bucket waits for all of them.
TEST(StepTiming, ABucketWaitsForTheSlowestReplica) {
  const Plan plan = an_even_plan(a_job().batch(8), kPool, 1, 2, 1);
  ScheduleTimes times = times_of(plan, 0, 0);
  times.replicas[0][1].backward = Nanoseconds(40);
  const Schedule schedule = make_schedule(plan, times, SchedulePolicy::kFlow);
  const StepTiming timing = time_step(schedule, times, {.all_reduce = {Nanoseconds(8)}, .buckets = {4}});
  EXPECT_EQ(timing.passes_done[0], Nanoseconds(4 * 50));
  EXPECT_EQ(timing.synced[0], Nanoseconds(4 * 50 + 2));
}

TEST(StepTiming, EveryPassRunsOnceAndNoReplicaDoesTwoAtATime) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const Plan plan = a_random_pool_plan(random);
    const ScheduleTimes times = random_times(random, plan);
    for (const bool blocks : {false, true}) {
      const Schedule schedule = make_schedule(plan, times, SchedulePolicy::kFlow);
      const StepTiming timing = time_step(schedule, times, {.receives_block = blocks});
      for (std::size_t stage = 0; stage < plan.stages.size(); ++stage) {
        for (std::size_t r = 0; r < plan.stages[stage].replicas.size(); ++r) {
          const auto& passes = timing.passes[stage][r];
          ASSERT_EQ(std::ssize(passes), 2 * plan.stages[stage].replicas[r].microbatches);
          for (std::size_t i = 1; i < passes.size(); ++i) ASSERT_GE(passes[i].start, passes[i - 1].end);
        }
      }
    }
  }
}

}  // namespace
}  // namespace sailor
