// Jobs that look ahead: they follow how long the nodes of their pools have lived of late.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/model/names.h"
#include "operator/reconcile/decide/job_outlook.h"
#include "tests/operator/world.h"

namespace sailor::testing {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// Two nodes with two GPUs each, on which the job trains, and others that come and go.
class NodesThatComeAndGo : public ::testing::Test {
 protected:
  void start(const char* look_ahead) {
    world.add_pool("t4");
    world.add_node("a", 2);
    world.add_node("b", 2);
    world.add_job({{"elasticity", {{"mode", "Live"}, {"lookAhead", look_ahead}}}});
    world.settle();
    world.pass(minutes(1));
  }
  // So many times a node comes for a minute, but does not get ready.
  void come_and_go(int times) {
    for (int i = 0; i < times; ++i) {
      world.add_node("brief", 1);
      world.cut_off("brief");
      step(seconds(60));
      world.remove_node("brief");
      step(seconds(60));
    }
  }
  void step(seconds time) {
    world.pass(time);
    world.settle();
  }
  // Five nodes have come and gone, and another one has come. A change has this pause.
  void offer_a_better_plan(Seconds pause) {
    come_and_go(5);
    world.pause = pause;
    world.add_node("c", 1);
  }
  double failures_per_hour() { return world.sent.back().failures_per_hour; }

  World world;
};

TEST_F(NodesThatComeAndGo, AJobPostponesAChangeThatDoesNotPayForItsPause) {
  start("On");
  offer_a_better_plan(Seconds(600));
  step(seconds(30));
  EXPECT_EQ(world.generation(), 1);
  EXPECT_THAT(world.nodes_of("job"), ElementsAre("a", "b"));
  EXPECT_NEAR(world.record().forgone.share, 0.2, 1e-6);
  EXPECT_THAT(world.condition("Planned"), HasSubstr("A plan that is 20 % better waits until"));
}

TEST_F(NodesThatComeAndGo, ANodeThatStaysIsUsedOnceAsMuchAsThePauseIsForgone) {
  start("On");
  offer_a_better_plan(Seconds(600));
  step(seconds(0));
  const Time change_at = world.record().forgone.change_at;
  EXPECT_EQ(change_at, world.now + minutes(50)) << "a fifth of fifty minutes is the pause";
  EXPECT_EQ(world.requeue_after.value_or(std::chrono::milliseconds(0)), minutes(50));
  step(minutes(49));
  EXPECT_EQ(world.generation(), 1);
  step(minutes(1));
  EXPECT_THAT(world.nodes_of("job"), ElementsAre("a", "b", "c"));
  EXPECT_EQ(world.record().forgone, Forgone()) << "the job has another plan now";
}

TEST_F(NodesThatComeAndGo, WhatIsForgoneAddsUpOverNodesThatComeForAWhile) {
  start("On");
  come_and_go(5);
  world.pause = Seconds(600);
  for (int i = 0; i < 2; ++i) {
    world.add_node("c", 1);
    step(seconds(0));
    step(minutes(4));
    world.remove_node("c");
    step(seconds(0));
    step(minutes(3));
    EXPECT_THAT(world.condition("Planned"), Not(HasSubstr("waits until")));
  }
  world.add_node("c", 1);
  step(seconds(0));
  EXPECT_EQ(world.generation(), 1);
  EXPECT_NEAR(seconds_between(world.now, world.record().forgone.change_at), 42 * 60, 1)
      << "eight of fifty minutes are over";
}

TEST_F(NodesThatComeAndGo, AChangeWithAShortPauseIsNotPostponed) {
  start("On");
  offer_a_better_plan(Seconds(1));
  step(seconds(30));
  EXPECT_THAT(world.nodes_of("job"), ElementsAre("a", "b", "c"));
}

TEST_F(NodesThatComeAndGo, AJobThatDoesNotLookAheadChangesAtOnce) {
  start("Off");
  offer_a_better_plan(Seconds(600));
  step(seconds(30));
  EXPECT_THAT(world.nodes_of("job"), ElementsAre("a", "b", "c"));
}

TEST_F(NodesThatComeAndGo, AutoLooksAheadOnceThreeDropsAreKnown) {
  start("Auto");
  come_and_go(2);
  world.pause = Seconds(600);
  world.add_node("c", 1);
  step(seconds(30));
  EXPECT_THAT(world.nodes_of("job"), ElementsAre("a", "b", "c"));
  come_and_go(4);
  world.add_node("d", 1);
  step(seconds(30));
  EXPECT_THAT(world.nodes_of("job"), ElementsAre("a", "b", "c"));
}

TEST_F(NodesThatComeAndGo, ANewOperatorStillPostponesTheChange) {
  start("On");
  offer_a_better_plan(Seconds(600));
  step(seconds(0));
  world.write_pool_statuses();
  const Time change_at = world.record().forgone.change_at;
  world.restart_operator();
  step(minutes(5));
  EXPECT_EQ(world.generation(), 1);
  EXPECT_EQ(world.record().forgone.change_at, change_at);
  step(minutes(46));
  EXPECT_THAT(world.nodes_of("job"), ElementsAre("a", "b", "c"));
}

TEST_F(NodesThatComeAndGo, TheStatusOfThePoolSaysHowLongNodesLive) {
  start("On");
  come_and_go(5);
  world.write_pool_statuses();
  const Json status = world.pool_status("t4");
  EXPECT_EQ(status["history"]["nodes"], 2);
  EXPECT_NEAR(status["history"]["losses"].get<double>(), 5, 0.5);
  EXPECT_EQ(status["history"]["lastDropTime"], to_rfc3339(world.now));
  EXPECT_LT(std::stod(status["expectedNodeLifetimeHours"].get<std::string>()), 2);
}

TEST_F(NodesThatComeAndGo, APlanSavesAsOftenAsItsNodesAreExpectedToBeLost) {
  start("On");
  const double declared = failures_per_hour();
  come_and_go(10);
  world.add_node("c", 1);
  step(seconds(30));
  ASSERT_EQ(world.generation(), 2);
  EXPECT_GT(failures_per_hour(), 10 * declared);
}

TEST_F(NodesThatComeAndGo, APlanOfAJobThatDoesNotLookAheadSavesAsDeclared) {
  start("Off");
  const double declared = failures_per_hour();
  come_and_go(10);
  world.add_node("c", 1);
  step(seconds(30));
  ASSERT_EQ(world.generation(), 2);
  EXPECT_EQ(failures_per_hour(), declared);
}

RescaleStatus loss(Reason reason, std::int64_t steps_lost) {
  RescaleStatus rescale;
  rescale.reason = reason;
  rescale.steps_lost = steps_lost;
  return rescale;
}

TEST(DropOutcomes, ADropIsSavedIfItCostsAtMostTheStepInFlight) {
  const DropOutcomes outcomes = drop_outcomes({loss(Reason::kNodePreempted, 0), loss(Reason::kNodeLost, 1),
                                               loss(Reason::kNodeLost, 40), loss(Reason::kScaleUpOpportunity, 40)});
  EXPECT_EQ(outcomes.drops, 3);
  EXPECT_EQ(outcomes.unsaved, 1);
}

}  // namespace
}  // namespace sailor::testing
