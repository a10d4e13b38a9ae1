// What the operator does about GPUs that get slow, and when they recover.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/model/speed_grade.h"
#include "tests/operator/job_on_two_nodes.h"

namespace sailor::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

const World::Gpu kFirstOfA{"a", 0};
const World::Gpu kOnlyOfB{"b", 0};

// Node a has two GPUs and node b has one.
class Stragglers : public JobOnTwoNodes {
 protected:
  void train_at_usual_speed() {
    start();
    train(20, {});
    ASSERT_EQ(world.generation(), 1);
  }
  // A step takes a second.
  void train(int steps, const std::map<World::Gpu, double>& slowdowns) {
    for (int i = 0; i < steps; ++i) {
      world.do_step(slowdowns, step_seconds);
      world.pass(std::chrono::seconds(1));
      world.settle();
    }
  }
  // The first GPU of node a takes this many times as long, and so do the steps.
  void train_slowed_down(double factor) {
    step_seconds = factor;
    train(20, {{kFirstOfA, factor}});
  }
  [[nodiscard]] GenerationRecord record() const { return world.record(); }
  [[nodiscard]] Json newest_rescale() { return world.status()["rescales"].back(); }

  double step_seconds = 1;
};

TEST_F(Stragglers, OnlyTheSlowGpuIsNamed) {
  train_at_usual_speed();
  train(10, {{kFirstOfA, 4}});
  EXPECT_THAT(record().slow_gpus, SizeIs(1));
  EXPECT_EQ(world.condition("Degraded"), "True Straggler: GPU 0 of node a takes 4.0 times as long as usual.");
  EXPECT_THAT(world.events(), Contains("Straggler"));
}

TEST_F(Stragglers, TheReplicaOfTheSlowPoolRunsOnTheSlowGpu) {
  train_at_usual_speed();
  train_slowed_down(4);
  EXPECT_EQ(world.generation(), 2);
  EXPECT_EQ(newest_rescale()["reason"], "Straggler");
  const Assignment& newest = world.sent.back();
  int slow_workers = 0;
  for (const WorkerSlot& worker : newest.workers) {
    ASSERT_TRUE(worker.role);
    const Replica& replica = newest.plan.stages.at(0).replicas.at(static_cast<std::size_t>(worker.role->replica));
    const bool is_slow =
        newest.agents.at(static_cast<std::size_t>(worker.agent)).name == world.pod_on("a") && worker.gpu == 0;
    EXPECT_EQ(replica.pool.grade, is_slow ? grade_of(4) : 0);
    slow_workers += is_slow ? 1 : 0;
  }
  EXPECT_EQ(slow_workers, 1);
  EXPECT_EQ(kube::integer_at(world.status(), {"plan", "totalGpus"}), 3);
  EXPECT_THAT(world.status()["plan"]["gpus"], SizeIs(1)) << "a slow GPU belongs to its pool";
  train(20, {{kFirstOfA, 4}});
  EXPECT_EQ(world.generation(), 2) << "the plan expects what is measured";
}

// The plan stays the same then: so many GPUs of usual speed. Only its place changes.
TEST_F(Stragglers, AFreeGpuOfTheSamePoolReplacesTheSlowOne) {
  start({{"resources", {{"maxGpus", 3}}}});
  train(20, {});
  world.add_node("c", 1);
  train_slowed_down(4);
  EXPECT_EQ(world.generation(), 2);
  EXPECT_EQ(newest_rescale()["reason"], "StragglerEvicted");
  std::vector<std::string> pods;
  for (const WorkerSlot& worker : world.sent.back().workers) {
    if (worker.role) pods.push_back(world.sent.back().agents.at(static_cast<std::size_t>(worker.agent)).name);
  }
  EXPECT_THAT(pods, UnorderedElementsAre(world.pod_on("a"), world.pod_on("b"), world.pod_on("c")));
}

TEST_F(Stragglers, TheChangeBackNamesTheGpuThatHasRecovered) {
  train_at_usual_speed();
  train_slowed_down(4);
  step_seconds = 1;
  train(20, {});
  EXPECT_EQ(world.generation(), 3);
  EXPECT_EQ(newest_rescale()["reason"], "StragglerRecovered");
  EXPECT_THAT(world.condition("Planned"), EndsWith("GPU 0 of node a is as fast as usual again."));
}

TEST_F(Stragglers, AGpuThatGetsLessSlowIsNamedAsTheReason) {
  train_at_usual_speed();
  train_slowed_down(4);
  train_slowed_down(2);
  EXPECT_EQ(world.generation(), 3);
  EXPECT_EQ(newest_rescale()["reason"], "Straggler");
  EXPECT_THAT(world.condition("Planned"), EndsWith("GPU 0 of node a takes 2.0 times as long as usual."));
}

// The report in whose second the speed changes is a mean of both speeds.
TEST_F(Stragglers, ARecoveryThatTheReportsShowLittleByLittleIsOneChange) {
  train_at_usual_speed();
  train_slowed_down(4);
  train(1, {{kFirstOfA, 2.5}});
  train(1, {{kFirstOfA, 1.4}});
  step_seconds = 1;
  train(20, {});
  EXPECT_EQ(world.generation(), 3);
}

TEST_F(Stragglers, ASpeedNearTheRecordedOneAsksNothingNew) {
  train_at_usual_speed();
  train(4, {{kFirstOfA, 2.6}});
  const double recorded = record().slow_gpus.at(0).slowdown;
  train(10, {{kFirstOfA, 2.35}});
  ASSERT_NE(grade_of(2.35), grade_of(2.6));
  EXPECT_EQ(record().slow_gpus.at(0).slowdown, recorded);
}

TEST_F(Stragglers, AJobThatIsNotSlowerAsMeasuredKeepsItsPlan) {
  train_at_usual_speed();
  train(30, {{kFirstOfA, 2}});
  EXPECT_THAT(world.condition("Degraded"), StartsWith("True Straggler"));
  EXPECT_EQ(world.generation(), 1);
  step_seconds = 2;
  train(10, {{kFirstOfA, 2}});
  EXPECT_EQ(world.generation(), 2);
}

TEST_F(Stragglers, AGpuThatIsTooSlowIsLeftOutAndProbedAndComesBack) {
  train_at_usual_speed();
  step_seconds = 20;
  train(15, {{kOnlyOfB, 20}});
  EXPECT_EQ(newest_rescale()["reason"], "StragglerEvicted");
  EXPECT_EQ(newest_rescale()["toGpus"], 2);
  EXPECT_THAT(world.nodes_in_use(), ElementsAre("a", "b")) << "its pod stays, so that the GPU is probed";
  EXPECT_EQ(world.state(), "Running");
  step_seconds = 1.5;
  train(40, {{kOnlyOfB, 20}});
  EXPECT_EQ(world.generation(), 2);
  train(20, {});
  EXPECT_THAT(world.events(), Contains("StragglerRecovered"));
  EXPECT_EQ(kube::integer_at(world.status(), {"plan", "totalGpus"}), 3);
  EXPECT_THAT(world.condition("Degraded"), StartsWith("False"));
}

TEST_F(Stragglers, AGpuThatIsProbedAndRecoversWhileTheOperatorRestartsComesBack) {
  train_at_usual_speed();
  step_seconds = 20;
  train(15, {{kOnlyOfB, 20}});
  step_seconds = 1.5;
  train(10, {{kOnlyOfB, 20}});
  ASSERT_EQ(kube::integer_at(world.status(), {"plan", "totalGpus"}), 2);
  world.restart_operator();
  train(20, {});
  EXPECT_THAT(world.events(), Contains("StragglerRecovered"));
  EXPECT_EQ(kube::integer_at(world.status(), {"plan", "totalGpus"}), 3);
}

TEST_F(Stragglers, APodWithoutProbesIsRemovedAfterAnHour) {
  train_at_usual_speed();
  step_seconds = 20;
  train(15, {{kOnlyOfB, 20}});
  ASSERT_EQ(kube::integer_at(world.status(), {"plan", "totalGpus"}), 2);
  world.pass(std::chrono::seconds(3600));
  world.settle();
  EXPECT_THAT(world.nodes_in_use(), ElementsAre("a"));
}

TEST_F(Stragglers, AGpuThatGetsSlowAgainIsTrustedLaterEachTime) {
  train_at_usual_speed();
  step_seconds = 20;
  std::vector<int> steps_until_trusted;
  for (int round = 0; round < 3; ++round) {
    train(15, {{kOnlyOfB, 20}});
    EXPECT_TRUE(record().slow_gpus.at(0).is_slow());
    int steps = 0;
    for (; record().slow_gpus.at(0).is_slow() && steps < 200; ++steps) train(1, {});
    steps_until_trusted.push_back(steps);
    train(15, {});
  }
  EXPECT_LT(steps_until_trusted[0], steps_until_trusted[1]);
  EXPECT_GT(steps_until_trusted[2], steps_until_trusted[1] + 20);
}

TEST_F(Stragglers, WithElasticityOffTheyAreOnlyNamed) {
  start({{"elasticity", {{"mode", "Off"}}}});
  train(20, {});
  train_slowed_down(4);
  EXPECT_THAT(world.condition("Degraded"), StartsWith("True Straggler"));
  EXPECT_EQ(world.generation(), 1);
}

TEST_F(Stragglers, AnOperatorThatStartsKnowsThem) {
  train_at_usual_speed();
  train_slowed_down(4);
  world.restart_operator();
  train(20, {{kFirstOfA, 4}});
  EXPECT_EQ(world.generation(), 2);
  EXPECT_THAT(record().slow_gpus, SizeIs(1));
  step_seconds = 1;
  train(20, {});
  EXPECT_EQ(world.generation(), 3) << "and that they have recovered";
  EXPECT_FALSE(record().slow_gpus.at(0).is_slow());
}

// Longer than after which a GPU that nobody measures is tried again.
constexpr std::chrono::hours kLong{3};

TEST_F(Stragglers, AnOperatorThatStartsKnowsAGpuThatHasBeenSlowForHours) {
  train_at_usual_speed();
  train_slowed_down(4);
  world.pass(kLong);
  world.restart_operator();
  train(40, {{kFirstOfA, 4}});
  EXPECT_EQ(world.generation(), 2);
  EXPECT_THAT(record().slow_gpus, SizeIs(1));
}

TEST_F(Stragglers, AGpuThatHasBeenSlowForHoursIsNotForgottenWhenItsAgentMissesAPoll) {
  train_at_usual_speed();
  train_slowed_down(4);
  world.pass(kLong);
  train(5, {{kFirstOfA, 4}});
  world.frozen_nodes.insert("a");
  train(1, {{kFirstOfA, 4}});
  EXPECT_THAT(record().slow_gpus, SizeIs(1));
  world.frozen_nodes.clear();
  train(20, {{kFirstOfA, 4}});
  EXPECT_EQ(world.generation(), 2);
}

TEST_F(Stragglers, AGpuThatIsLeftOutOnceItGetsSlowerIsProbedEvenIfItHasBeenSlowForHours) {
  train_at_usual_speed();
  step_seconds = 2;
  train(20, {{kOnlyOfB, 2}});
  world.pass(kLong);
  step_seconds = 30;
  train(15, {{kOnlyOfB, 30}});
  EXPECT_EQ(newest_rescale()["reason"], "StragglerEvicted");
  step_seconds = 1.5;
  train(40, {{kOnlyOfB, 30}});
  EXPECT_THAT(world.nodes_in_use(), ElementsAre("a", "b"));
  EXPECT_EQ(kube::integer_at(world.status(), {"plan", "totalGpus"}), 2);
  EXPECT_EQ(world.generation(), 3);
}

TEST_F(Stragglers, AGpuThatThePlanUsesAsUsualIsNotTheReasonForAChangeOnceItHasRecovered) {
  train_at_usual_speed();
  train(12, {{kFirstOfA, 1.5}});
  train(20, {});
  ASSERT_FALSE(record().slow_gpus.at(0).is_slow());
  ASSERT_EQ(world.generation(), 1);
  world.add_node("c", 2);
  train(5, {});
  ASSERT_EQ(world.generation(), 2);
  EXPECT_EQ(newest_rescale()["reason"], "ScaleUpOpportunity");
}

}  // namespace
}  // namespace sailor::testing
