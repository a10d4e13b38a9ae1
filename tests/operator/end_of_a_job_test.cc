// How a job ends: complete, failed, or deleted when its time is over.
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/operator/job_on_two_nodes.h"

namespace sailor::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

class EndOfJob : public JobOnTwoNodes {};

TEST_F(EndOfJob, FailureOfSeveralPodsCountsAsOneRestartAndHasTheTrainersMessage) {
  start();
  for (const std::string& pod : world.pods()) world.fail_pod(pod, "cannot read /data/*: no such file");
  world.reconcile();
  EXPECT_EQ(world.status()["restarts"], 1);
  EXPECT_EQ(world.condition("Degraded"), "True TrainerFailed: Restart 1: cannot read /data/*: no such file");
  world.pass(std::chrono::seconds(2));
  world.settle();
  EXPECT_EQ(world.state(), "Running");
  EXPECT_EQ(world.status()["restarts"], 1);
}

TEST_F(EndOfJob, JobFailsWithTheTrainersMessageAfterMaxRestarts) {
  start({{"maxRestarts", 0}});
  world.fail_pod(world.pods()[0], "cannot read /data/*");
  world.settle();
  EXPECT_EQ(world.state(), "Failed");
  EXPECT_THAT(world.condition("Failed"), HasSubstr("cannot read /data/*"));
  const int before = world.api_server.writes;
  world.settle();
  EXPECT_EQ(world.api_server.writes, before) << "a failed job is left alone";
}

// A kubelet may need a second to notice that a container has ended. Until then the pod seems to be lost with its node.
TEST_F(EndOfJob, AFailureThatAllAgentsTellBeforeTheirKubeletsIsNotTakenForALossOfNodes) {
  start({{"maxRestarts", 0}});
  for (const std::string& pod : world.pods()) world.tell_failure(pod, "cannot read /data/*");
  world.settle();
  EXPECT_EQ(world.state(), "Failed");
  EXPECT_THAT(world.condition("Failed"), HasSubstr("cannot read /data/*"));
}

TEST_F(EndOfJob, AFailureCountsOnceIfTheKubeletConfirmsWhatTheAgentHasTold) {
  start();
  const std::vector<std::string> pods = world.pods();
  for (const std::string& pod : pods) world.tell_failure(pod, "cannot read /data/*");
  const auto stale = world.reconcile_later();
  for (const std::string& pod : pods) world.fail_pod(pod, "cannot read /data/*");
  static_cast<void>(stale());
  world.reconcile();
  EXPECT_EQ(world.status()["restarts"], 1);
  EXPECT_THAT(world.record().quarantined_nodes, IsEmpty());
  world.pass(std::chrono::seconds(2));
  world.settle();
  EXPECT_EQ(world.state(), "Running");
  EXPECT_EQ(world.status()["restarts"], 1);
}

// Its container was killed for memory, so its agent could tell nothing, and the kubelet needs a second.
class PodKilledForMemory : public EndOfJob {
 protected:
  void kill_pod_on_b() {
    pod_ = world.pod_on("b");
    world.agent_on("b").unanswered_polls = 5;
    world.break_peers();
    world.settle();
    EXPECT_EQ(world.generation(), 2) << "the other pod trains on alone";
    world.pass(std::chrono::seconds(1));
    world.fail_pod(pod_, "the trainer was ended: OOMKilled (exit code 137)");
  }
  std::string pod_;
};

TEST_F(PodKilledForMemory, CountsAsAFailureOfTheTrainerAndItsNodeIsUsedAgain) {
  start();
  kill_pod_on_b();
  world.settle();
  EXPECT_EQ(world.status()["restarts"], 1);
  EXPECT_THAT(world.record().last_failure, HasSubstr("OOMKilled"));
  EXPECT_THAT(world.events(), Contains("TrainerFailed"));
  world.pass(std::chrono::seconds(11));
  world.settle();
  EXPECT_EQ(world.state(), "Running");
  EXPECT_THAT(world.nodes_in_use(), ::testing::ElementsAre("a", "b"));
  EXPECT_EQ(world.status()["restarts"], 1);
}

TEST_F(PodKilledForMemory, FailsTheJobAfterMaxRestarts) {
  start({{"maxRestarts", 0}});
  kill_pod_on_b();
  world.settle();
  EXPECT_EQ(world.state(), "Failed");
  EXPECT_THAT(world.condition("Failed"), HasSubstr("OOMKilled"));
}

TEST_F(EndOfJob, JobThatFinishedWhileNoOperatorRanBecomesComplete) {
  start();
  world.finish_pods();
  world.restart_operator();
  world.settle();
  EXPECT_EQ(world.state(), "Complete") << world.status().dump(1);
  EXPECT_THAT(world.pods(), SizeIs(2)) << "their logs are kept";
}

// The last checkpoint is completed after the last step, so a poll in between reports the same step without it.
TEST_F(EndOfJob, TheLastReportOfAPodSaysWhichCheckpointIsTheNewest) {
  start();
  const auto polled = world.agents;
  for (auto& [uid, agent] : world.agents) {
    AgentReport& report = agent.report.value();
    if (report.progress) report.progress->last_checkpoint_step = 100;
  }
  world.finish_pods();
  world.agents = polled;
  world.settle();
  EXPECT_EQ(world.state(), "Complete");
  EXPECT_EQ(world.status()["progress"]["lastCheckpointStep"], 100);
}

TEST_F(EndOfJob, AJobWhoseLastCheckpointCouldNotBeWrittenSaysSo) {
  start();
  for (auto& [uid, agent] : world.agents) {
    AgentReport& report = agent.report.value();
    if (report.progress) report.progress->last_checkpoint_step = 90;
    report.workers.back().message = "writing /checkpoints/step-100/piece-003-00.bin: No space left on device";
  }
  world.finish_pods();
  world.settle();
  EXPECT_EQ(world.state(), "Complete");
  EXPECT_THAT(
      world.condition("Complete"),
      AllOf(HasSubstr("steps are done. The last checkpoint could not be written: writing /checkpoints/step-100"),
            HasSubstr("No space left on device")));
}

TEST_F(EndOfJob, PodsThatEndOneByOneAtTheEndCauseNoNewGeneration) {
  start();
  for (auto& [uid, agent] : world.agents) {
    for (WorkerReport& worker : agent.report.value().workers) worker.phase = WorkerPhase::kFinished;
  }
  // The process of this agent has ended, but the kubelet has not reported it yet.
  std::next(world.agents.begin())->second.unanswered_polls = 5;
  world.pass(std::chrono::seconds(20));
  world.settle();
  EXPECT_EQ(world.generation(), 1);
  EXPECT_EQ(world.state(), "Running");
}

TEST_F(EndOfJob, WorkerThatLosesItsPeersAtTheVeryEndIsNotWaitedFor) {
  start();
  for (WorkerReport& worker : world.agent_on("b").report->workers) worker.phase = WorkerPhase::kBroken;
  world.finish_pod(world.pod_on("a"));
  world.settle();
  EXPECT_EQ(world.state(), "Complete") << world.status().dump(1);
}

TEST_F(EndOfJob, PodThatIsFrozenAtTheEndIsWaitedForHalfAMinute) {
  start();
  AgentView& frozen = world.agent_on("b");
  frozen.unanswered_polls = 5;
  frozen.unanswered_since = world.now;
  world.finish_pod(world.pod_on("a"));
  world.pass(std::chrono::seconds(29));
  world.settle();
  EXPECT_EQ(world.state(), "Running") << "its kubelet may say that it has ended";
  ASSERT_TRUE(world.requeue_after.has_value());
  world.pass(std::chrono::duration_cast<std::chrono::seconds>(*world.requeue_after));
  world.settle();
  EXPECT_EQ(world.state(), "Complete") << world.status().dump(1);
  EXPECT_THAT(world.nodes_in_use(), ::testing::ElementsAre("a")) << "the frozen pod is deleted";
}

TEST_F(EndOfJob, PodsThatWaitForNewNodesAreRemoved) {
  world.add_pool("a", {{"zone", "us-central1-a"}, {"maxNodes", 4}});
  start({{"training", {{"globalBatchSize", 16}, {"sequenceLength", 32}, {"steps", 1'000'000}}}});
  world.pass(std::chrono::seconds(11));
  world.settle();
  ASSERT_FALSE(world.pods_without_node().empty());
  for (const std::string node : {"a", "b"}) world.finish_pod(world.pod_on(node));
  world.settle();
  EXPECT_EQ(world.state(), "Complete");
  EXPECT_TRUE(world.pods_without_node().empty());
}

TEST_F(EndOfJob, JobIsDeletedAfterItsTimeToLive) {
  start({{"ttlSecondsAfterFinished", 60}});
  world.finish_pods();
  world.settle();
  EXPECT_FALSE(world.api_server.all("trainingjobs").empty());
  world.pass(std::chrono::seconds(61));
  world.reconcile();
  EXPECT_TRUE(world.api_server.all("trainingjobs").empty());
}

TEST_F(EndOfJob, LateStatusOfAFormerLeaderDoesNotUndoTheEnd) {
  start();
  world.agent_on("a").report->workers[0].message = "No space left on device";  // so the status is written
  const auto former_leader = world.reconcile_later();
  world.restart_operator();
  world.finish_pods();
  world.settle();
  ASSERT_EQ(world.state(), "Complete");
  EXPECT_FALSE(former_leader());
  EXPECT_EQ(world.state(), "Complete");
}

TEST_F(EndOfJob, NumbersThatMeanNeverNeitherFailNorDeleteTheJob) {
  for (const std::int64_t never : {std::int64_t{9'300'000'000'000'000}, std::numeric_limits<std::int64_t>::max()}) {
    World here;
    here.add_node("a", 2);
    here.add_job({{"activeDeadlineSeconds", never}, {"ttlSecondsAfterFinished", never}});
    here.settle();
    EXPECT_EQ(here.state(), "Running") << here.status().dump(1);
    here.finish_pods();
    here.settle();
    EXPECT_EQ(here.state(), "Complete") << here.status().dump(1);
    EXPECT_FALSE(here.api_server.all("trainingjobs").empty());
  }
}

TEST_F(EndOfJob, JobFailsAtItsDeadline) {
  start({{"activeDeadlineSeconds", 30}});
  world.pass(std::chrono::seconds(31));
  world.settle();
  EXPECT_THAT(world.condition("Failed"), StartsWith("True DeadlineExceeded"));
  EXPECT_THAT(world.pods(), IsEmpty());
}

}  // namespace
}  // namespace sailor::testing
