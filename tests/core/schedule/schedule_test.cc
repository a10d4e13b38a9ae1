// Schedules of plans that are small enough to check by hand.
#include "core/schedule/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/schedule/make_schedule.h"
#include "tests/support/builders.h"

namespace sailor {
namespace {

using testing::a_job;
using testing::a_key;
using testing::an_even_plan;

const PoolKey kPool = a_key("us-central1-a", "nvidia-l4");

// "F0 F1 B0 ...": the passes only.
std::string passes(const ReplicaSchedule& replica) {
  std::string text;
  for (const Operation& operation : replica.operations) {
    const bool is_forward = operation.kind == OperationKind::kForward;
    if (!is_forward && operation.kind != OperationKind::kBackward) continue;
    text += (text.empty() ? "" : " ") + std::string(is_forward ? "F" : "B") + std::to_string(operation.microbatch);
  }
  return text;
}

Schedule even_schedule(int stages, int replicas, int microbatches, SchedulePolicy policy) {
  const JobSpec job = a_job().batch(microbatches);
  const Plan plan = an_even_plan(job, kPool, stages, replicas, 1);
  return make_schedule(plan, times_from_shares(plan), policy);
}

TEST(Schedule, EqualReplicasFollowOneForwardOneBackward) {
  for (const SchedulePolicy policy : {SchedulePolicy::kFlow, SchedulePolicy::kOneForwardOneBackward}) {
    const Schedule schedule = even_schedule(3, 1, 5, policy);
    EXPECT_EQ(passes(schedule.replicas[0][0]), "F0 F1 F2 B0 F3 B1 F4 B2 B3 B4");
    EXPECT_EQ(passes(schedule.replicas[1][0]), "F0 F1 B0 F2 B1 F3 B2 F4 B3 B4");
    EXPECT_EQ(passes(schedule.replicas[2][0]), "F0 B0 F1 B1 F2 B2 F3 B3 F4 B4");
  }
}

TEST(Schedule, EqualReplicasTakeAsLongAsTheTextbookSays) {
  const JobSpec job = a_job().batch(12);
  const Plan plan = an_even_plan(job, kPool, 4, 2, 1);
  const ScheduleTimes times = times_from_shares(plan);
  const Nanoseconds pass = times.replicas[0][0].forward + times.replicas[0][0].backward;
  EXPECT_EQ(make_schedule(plan, times, SchedulePolicy::kFlow).duration, pass * (12 / 2 + 4 - 1));
}

TEST(Schedule, EqualReplicasFormPipelinesThatShareNothing) {
  const Schedule schedule = even_schedule(2, 3, 9, SchedulePolicy::kFlow);
  EXPECT_EQ(schedule.routes[0], schedule.routes[1]);
  EXPECT_THAT(schedule.replicas[1][2].microbatches, ::testing::ElementsAre(2, 5, 8));
}

TEST(Schedule, UnevenMicrobatchesStillFormPipelines) {
  const Schedule schedule = even_schedule(2, 4, 10, SchedulePolicy::kFlow);
  EXPECT_EQ(schedule.routes[0], schedule.routes[1]);
  EXPECT_LE(schedule.replicas[0][0].max_in_flight, 2);
}

TEST(Schedule, ASingleStageSendsNothing) {
  const Schedule schedule = even_schedule(1, 2, 4, SchedulePolicy::kFlow);
  EXPECT_EQ(passes(schedule.replicas[0][1]), "F1 B1 F3 B3");
  EXPECT_EQ(schedule.replicas[0][1].operations.size(), 4U);
}

TEST(Schedule, TransfersNameTheReplicaAtTheOtherEnd) {
  const JobSpec job = a_job().batch(3);
  Plan plan = an_even_plan(job, kPool, 2, 1, 1);
  plan.stages[1].replicas = {{kPool, 1, 1}, {kPool, 1, 2}};
  const Schedule schedule = make_schedule(plan, times_from_shares(plan), SchedulePolicy::kFlow);
  for (const Operation& operation : schedule.replicas[0][0].operations) {
    if (operation.kind != OperationKind::kSendActivation) continue;
    EXPECT_EQ(operation.peer, schedule.routes[1][static_cast<std::size_t>(operation.microbatch)]);
  }
}

TEST(Schedule, MemoryForOneMicrobatchAllowsOneInFlight) {
  const JobSpec job = a_job().batch(6);
  const Plan plan = an_even_plan(job, kPool, 3, 1, 1);
  ScheduleTimes times = times_from_shares(plan);
  times.replicas[0][0].cap = 1;
  const Schedule schedule = make_schedule(plan, times, SchedulePolicy::kFlow);
  EXPECT_EQ(schedule.replicas[0][0].max_in_flight, 1);
  EXPECT_EQ(passes(schedule.replicas[0][0]), "F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5");
}

TEST(Schedule, SlowLinksKeepMoreInFlightThanTheTextbook) {
  const JobSpec job = a_job().batch(16);
  const Plan plan = an_even_plan(job, kPool, 2, 1, 1);
  ScheduleTimes times = times_from_shares(plan);
  times.links[0][0].latency = 2 * (times.replicas[0][0].forward + times.replicas[0][0].backward);
  const auto flow = make_schedule(plan, times, SchedulePolicy::kFlow);
  const auto textbook = make_schedule(plan, times, SchedulePolicy::kOneForwardOneBackward);
  EXPECT_EQ(textbook.replicas[0][0].max_in_flight, 2);
  EXPECT_GT(flow.replicas[0][0].max_in_flight, 4);
  EXPECT_LT(flow.duration, textbook.duration * 3 / 4);
}

// The second stage is three times as fast as the first. With backward passes first, the first stage starts its last
// forward pass so late that it must wait for the last gradient.
struct FastSecondStage {
  Plan plan = an_even_plan(a_job().batch(3), kPool, 2, 1, 1);
  ScheduleTimes times{.replicas = {{{Nanoseconds(3), Nanoseconds(6)}}, {{Nanoseconds(1), Nanoseconds(2)}}},
                      .links = {{LinkTimes{}}}};
};

TEST(Schedule, ForwardPassesGoFirstIfThatMakesTheStepShorter) {
  const FastSecondStage of;
  const Schedule schedule = make_schedule(of.plan, of.times, SchedulePolicy::kFlow);
  EXPECT_EQ(passes(schedule.replicas[0][0]), "F0 F1 F2 B0 B1 B2");
  EXPECT_EQ(schedule.duration, Nanoseconds(3 * (3 + 6)));
}

TEST(Schedule, OneForwardOneBackwardKeepsBackwardPassesFirst) {
  const FastSecondStage of;
  const Schedule schedule = make_schedule(of.plan, of.times, SchedulePolicy::kOneForwardOneBackward);
  EXPECT_EQ(passes(schedule.replicas[0][0]), "F0 F1 B0 B1 F2 B2");
  EXPECT_EQ(schedule.duration, Nanoseconds(30));
}

TEST(Schedule, BackwardPassesGoFirstIfTheStepCannotBecomeShorter) {
  const Plan plan = an_even_plan(a_job().batch(3), kPool, 1, 1, 1);
  const Schedule schedule = make_schedule(plan, times_from_shares(plan));
  EXPECT_EQ(passes(schedule.replicas[0][0]), "F0 B0 F1 B1 F2 B2");
}

TEST(Schedule, ADeadlineIsMetIfOneOrderMeetsIt) {
  const FastSecondStage of;
  const auto within = [&](int deadline) {
    return make_schedule_within(std::vector(2, Nanoseconds(deadline)), of.plan, of.times);
  };
  EXPECT_TRUE(within(27)) << "with backward passes first it takes 30 ns";
  EXPECT_FALSE(within(26));
}

TEST(Schedule, SameInputGivesTheSameSchedule) {
  const JobSpec job = a_job().batch(16);
  const Plan plan = an_even_plan(job, kPool, 3, 2, 1);
  const auto times = times_from_shares(plan);
  EXPECT_EQ(make_schedule(plan, times, SchedulePolicy::kFlow), make_schedule(plan, times, SchedulePolicy::kFlow));
}

}  // namespace
}  // namespace sailor
