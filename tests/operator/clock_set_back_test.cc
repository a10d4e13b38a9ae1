// The clock of the operator's machine is set back, and another operator starts: the times that were stored before are
// in the future for it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/operator/job_on_two_nodes.h"

namespace sailor::testing {
namespace {

using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class ClockSetBack : public JobOnTwoNodes {
 protected:
  void set_clock_back() {
    world.restart_operator();
    world.step_clock(-std::chrono::hours(5));
    world.settle();
  }
  void wait(std::chrono::seconds time) {
    world.pass(time);
    world.settle();
  }
};

TEST_F(ClockSetBack, DoesNotStopVoluntaryChanges) {
  start();
  set_clock_back();
  world.add_node("c", 2);
  wait(std::chrono::seconds(11));
  EXPECT_EQ(world.generation(), 2);
}

TEST_F(ClockSetBack, DoesNotProlongThePauseOfASoldOutPool) {
  world.add_pool("a", {{"zone", "us-central1-a"}, {"maxNodes", 4}});
  start({{"training", {{"globalBatchSize", 16}, {"sequenceLength", 32}, {"steps", 1'000'000}}}});
  wait(std::chrono::seconds(11));
  ASSERT_THAT(world.pods_without_node(), Not(IsEmpty()));
  world.say_of_new_nodes("FailedScaleUp", "out of resources");
  world.settle();
  ASSERT_THAT(world.record().pool_refusals, SizeIs(1));
  ASSERT_THAT(world.pods_without_node(), IsEmpty());
  set_clock_back();
  wait(std::chrono::minutes(4));
  EXPECT_THAT(world.pods_without_node(), IsEmpty()) << "the pause lasts five minutes";
  wait(std::chrono::minutes(2));
  EXPECT_THAT(world.pods_without_node(), Not(IsEmpty()));
}

TEST_F(ClockSetBack, DoesNotProlongTheWaitBeforeARestart) {
  start();
  world.fail_pod(world.pod_on("a"), "out of memory");
  world.fail_pod(world.pod_on("b"), "out of memory");
  world.settle();
  set_clock_back();
  wait(std::chrono::minutes(1));
  EXPECT_EQ(world.state(), "Running") << world.condition("PodsReady");
}

TEST_F(ClockSetBack, LeavesASuspendedJobSuspended) {
  start();
  world.change_job([](Json& job) { job["spec"]["suspend"] = true; });
  world.settle();
  ASSERT_EQ(world.state(), "Suspended");
  world.restart_operator();
  world.step_clock(-std::chrono::hours(5));
  world.reconcile();
  EXPECT_EQ(world.state(), "Suspended");
  EXPECT_THAT(world.pods(), IsEmpty());
  EXPECT_LE(world.record().decided_at, world.now);
}

TEST_F(ClockSetBack, DoesNotHideTheSteps) {
  start();
  const auto do_step = [&] {
    world.do_step({}, 1);
    wait(std::chrono::seconds(40));
    return kube::integer_at(world.status(), {"progress", "step"});
  };
  do_step();
  set_clock_back();
  const std::int64_t before = do_step();
  EXPECT_GT(do_step(), before);
}

TEST_F(ClockSetBack, WritesTheTimesOnce) {
  start();
  set_clock_back();
  const GenerationRecord record = world.record();
  EXPECT_LE(record.committed_at, world.now);
  wait(std::chrono::seconds(5));
  EXPECT_EQ(world.record(), record);
}

TEST_F(ClockSetBack, BySecondsWritesNothing) {
  start();
  const GenerationRecord record = world.record();
  world.restart_operator();
  world.step_clock(-std::chrono::seconds(5));  // the clocks of two machines differ by so much
  world.settle();
  EXPECT_EQ(world.record(), record);
}

}  // namespace
}  // namespace sailor::testing
