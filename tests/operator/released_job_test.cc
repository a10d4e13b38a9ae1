// Jobs that save their state and release their GPUs: suspended, with too few GPUs left, or with an elasticity that
// restarts instead of changing shape.
#include <algorithm>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/model/names.h"
#include "operator/reconcile/decide/suspension.h"
#include "tests/operator/job_on_two_nodes.h"

namespace sailor::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

const Json kCheckpoint = {{"path", "/checkpoints"}};

class ReleasedJob : public JobOnTwoNodes {
 protected:
  void start(Json spec_changes = Json::object()) {
    spec_changes["checkpoint"] = kCheckpoint;
    JobOnTwoNodes::start(std::move(spec_changes));
  }
  void suspend(bool is_suspended) {
    world.change_job([&](Json& job) { job["spec"]["suspend"] = is_suspended; });
  }
};

TEST_F(ReleasedJob, StateIsSavedBeforeThePodsAreRemoved) {
  start();
  world.sent.clear();
  suspend(true);
  world.reconcile();
  ASSERT_THAT(world.sent, SizeIs(2));
  EXPECT_TRUE(world.sent[0].releases_gpus);
  EXPECT_EQ(world.sent[0].training_workers(), 0);
  EXPECT_THAT(world.pods(), SizeIs(2)) << "they hold the state";
  EXPECT_THAT(world.condition("Suspended"), StartsWith("False Saving"));
  EXPECT_TRUE(needs_agents(world.api_server.find("trainingjobs", "job")));
  world.settle();
  EXPECT_THAT(world.pods(), IsEmpty());
  EXPECT_EQ(world.state(), "Suspended");
  EXPECT_FALSE(needs_agents(world.api_server.find("trainingjobs", "job")));
}

TEST_F(ReleasedJob, JobThatIsCreatedSuspendedHasNothingToResume) {
  start({{"suspend", true}});
  EXPECT_THAT(world.condition("Suspended"), HasSubstr("When you set it to false, the job starts."));
}

TEST_F(ReleasedJob, JobWithAnInvalidSpecSavesItsStateAndIsSuspended) {
  for (const Json& mistake : {Json{{"resources", {{"minGpus", 4}, {"maxGpus", 2}}}},
                              Json{{"training", {{"globalBatchSize", 16}, {"sequenceLength", 32}, {"steps", -1}}}}}) {
    World here;
    here.add_node("a", 2);
    here.add_job({{"checkpoint", kCheckpoint}});
    here.settle();
    const Assignment trained = here.sent.back();
    here.change_job([&](Json& job) { job["spec"].update(mistake); });
    here.settle();
    ASSERT_THAT(here.condition("Planned"), StartsWith("False InvalidSpec"));
    ASSERT_THAT(here.pods(), SizeIs(1)) << "it trains on";
    EXPECT_EQ(here.state(), "Running");
    EXPECT_EQ(here.status()["reason"], "InvalidSpec");
    EXPECT_THAT(here.condition("Running"), StartsWith("True"));
    here.sent.clear();
    here.change_job([](Json& job) { job["spec"]["suspend"] = true; });
    EXPECT_TRUE(needs_agents(here.api_server.find("trainingjobs", "job"))) << "its state is still to be saved";
    here.settle();
    EXPECT_EQ(here.state(), "Suspended");
    EXPECT_THAT(here.pods(), IsEmpty());
    EXPECT_THAT(here.condition("Suspended"), HasSubstr("The spec is invalid; change it before"));
    ASSERT_THAT(here.sent, SizeIs(1));
    EXPECT_TRUE(here.sent[0].releases_gpus);
    EXPECT_EQ(here.sent[0].training, trained.training);
    EXPECT_EQ(here.sent[0].checkpoint, trained.checkpoint);
    here.change_job([](Json& job) { job["spec"]["suspend"] = false; });
    here.settle();
    EXPECT_THAT(here.condition("Planned"), StartsWith("False InvalidSpec"));
    EXPECT_THAT(here.pods(), IsEmpty());
  }
}

TEST_F(ReleasedJob, JobOfWhichNothingCanBeReadIsSuspendedWithoutSaving) {
  start();
  world.change_job([](Json& job) {
    job["spec"]["model"] = {{"name", "unknown"}};
    job["spec"]["suspend"] = true;
  });
  world.settle();
  EXPECT_EQ(world.state(), "Suspended");
  EXPECT_THAT(world.pods(), IsEmpty());
}

TEST_F(ReleasedJob, PodsAreRemovedAfterALimitAlthoughTheStateIsNotSaved) {
  start();
  world.agents_hang = true;
  suspend(true);
  world.settle();
  EXPECT_THAT(world.pods(), SizeIs(2));
  world.pass(std::chrono::seconds(61));
  world.settle();
  EXPECT_THAT(world.pods(), IsEmpty());
  EXPECT_EQ(world.state(), "Suspended");
}

TEST_F(ReleasedJob, RemainingPodsSaveAtOnceIfAPodIsLostForWhichTheyWait) {
  for (const char* mode : {"Live", "Restart"}) {
    World here;
    here.add_node("a", 2);
    here.add_node("b", 1);
    here.add_job({{"checkpoint", kCheckpoint}, {"elasticity", {{"mode", mode}}}});
    here.settle();
    here.agents_hang = true;  // no worker completes a rendezvous that another worker does not join
    here.change_job([](Json& job) { job["spec"]["suspend"] = true; });
    here.settle();
    here.sent.clear();
    here.remove_node("b");
    for (int i = 0; i < 3; ++i) here.reconcile();
    ASSERT_THAT(here.sent, Not(IsEmpty())) << mode;
    EXPECT_TRUE(here.sent.back().releases_gpus);
    EXPECT_THAT(here.sent.back().agents, SizeIs(1));
    here.agents_hang = false;
    here.settle();
    EXPECT_EQ(here.state(), "Suspended") << "and no time has passed";
    EXPECT_THAT(here.pods(), IsEmpty());
  }
}

TEST_F(ReleasedJob, RestartDoesNotWaitForANodeThatIsTerminatedBeforeItHasSaved) {
  start({{"elasticity", {{"mode", "Restart"}}}});
  world.agents_hang = true;
  world.preempt("b");
  for (int i = 0; i < 4; ++i) world.reconcile();
  ASSERT_TRUE(world.sent.back().releases_gpus);
  EXPECT_THAT(world.condition("Planned"), HasSubstr("is about to be terminated. Its state is being saved."));
  const auto released = world.sent.back().generation;
  for (int i = 0; i < 4; ++i) world.reconcile();
  EXPECT_EQ(world.sent.back().generation, released)
      << "a node that is about to be terminated is the cause of the release, and no new disruption";
  world.remove_node("b");
  for (int i = 0; i < 3; ++i) world.reconcile();
  EXPECT_GT(world.sent.back().generation, released);
  world.agents_hang = false;
  world.settle();
  EXPECT_EQ(world.state(), "Running") << "on what is left, and no time has passed";
  EXPECT_THAT(world.nodes_in_use(), ElementsAre("a"));
}

// No pod keeps a GPU for long while the job cannot have the others that it needs.
TEST_F(ReleasedJob, JobThatNeverTrainedKeepsNoGpusIfTooFewAreLeft) {
  world.stuck_nodes.insert("b");
  start({{"resources", {{"minGpus", 3}}}});
  ASSERT_THAT(world.pods(), SizeIs(2));
  world.remove_node("b");
  world.settle();
  EXPECT_THAT(world.condition("Planned"), StartsWith("False WaitingForCapacity"));
  EXPECT_THAT(world.pods(), IsEmpty());
  world.add_node("c", 2);
  world.settle();
  EXPECT_EQ(world.state(), "Running") << world.status().dump(1);
}

// The object of a pod stays for minutes if its kubelet is dead.
TEST_F(ReleasedJob, RestartDoesNotWaitForThePodObjectOfADeadNode) {
  start({{"elasticity", {{"mode", "Restart"}}}});
  world.api_server.dead_nodes = {"b"};
  world.preempt("b");
  world.settle();
  EXPECT_EQ(world.state(), "Running") << "and no time has passed: " << world.status().dump(1);
  EXPECT_THAT(world.nodes_in_use(), ElementsAre("a", "b")) << "what is left of it";
  EXPECT_EQ(kube::integer_at(world.status(), {"plan", "totalGpus"}), 2);
}

TEST_F(ReleasedJob, PodsAreRemovedAlthoughOneWasGoneAsSoonAsAllWasSaved) {
  start({{"resources", {{"minGpus", 3}}}});
  world.preempt("b");
  for (int i = 0; i < 3; ++i) world.reconcile();
  ASSERT_TRUE(world.sent.back().releases_gpus);
  world.live();  // all workers have saved, and the operator has not seen it yet
  world.api_server.erase("/api/v1/namespaces/default/pods", world.pod_on("b"));
  world.remove_node("b");
  world.settle();
  EXPECT_THAT(world.pods(), IsEmpty());
  EXPECT_EQ(world.state(), "Waiting");
}

TEST_F(ReleasedJob, RestartQuarantinesNoNodeForPodsThatUseTheirGracePeriod) {
  start({{"elasticity", {{"mode", "Restart"}}}});
  world.api_server.dead_nodes = {"a"};  // the node confirms the end of no pod for now
  world.add_node("c", 2);
  world.pass(std::chrono::seconds(11));
  world.settle();
  world.pass(world.settings.start_limit + std::chrono::seconds(1));
  for (int i = 0; i < 3; ++i) world.reconcile();
  world.api_server.erase("/api/v1/namespaces/default/pods", world.pod_on("a"));
  world.settle();
  EXPECT_EQ(world.state(), "Running") << world.status().dump(1);
  EXPECT_THAT(world.nodes_in_use(), ElementsAre("a", "b", "c"));
}

TEST_F(ReleasedJob, NewOperatorThatHasNotHeardTheAgentsRemovesNoPods) {
  start();
  suspend(true);
  world.agents_hang = true;
  world.reconcile();
  world.restart_operator();
  const auto heard = world.agents;
  for (auto& [uid, agent] : world.agents) agent = AgentView{};
  world.reconcile();
  EXPECT_THAT(world.pods(), SizeIs(2)) << "who knows what they hold";
  world.agents = heard;
  world.agents_hang = false;
  world.settle();
  EXPECT_EQ(world.state(), "Suspended");
}

TEST_F(ReleasedJob, StatusKnowsTheCheckpointThatASuspendedJobHasWritten) {
  start();
  for (int step = 0; step < 5; ++step) world.do_step({}, 1);  // the status is not written after each of them
  suspend(true);
  world.settle();
  ASSERT_EQ(world.state(), "Suspended");
  const Json progress = world.status()["progress"];
  EXPECT_EQ(progress["step"], 16);
  EXPECT_EQ(progress["lastCheckpointStep"], 16);
  EXPECT_EQ(world.status()["rescales"][0]["stepsLost"], 0);
  EXPECT_THAT(world.condition("Suspended"),
              HasSubstr("When you set it to false, the job continues from its last checkpoint."));
}

TEST_F(ReleasedJob, SuspendedJobDoesNotPromiseACheckpointThatItDoesNotHave) {
  start();
  for (const std::string node : {"a", "b"}) world.remove_node(node);
  suspend(true);
  world.settle();
  world.pass(std::chrono::seconds(61));
  world.settle();
  ASSERT_EQ(world.state(), "Suspended") << world.status().dump(1);
  EXPECT_THAT(world.condition("Suspended"),
              HasSubstr("starts again at step 0, because it has no checkpoint of its own yet"));
}

TEST_F(ReleasedJob, WaitingJobDoesNotPromiseACheckpointThatItDoesNotHave) {
  start({{"resources", {{"minGpus", 3}}}});
  for (const std::string node : {"a", "b"}) world.remove_node(node);
  world.settle();
  world.pass(std::chrono::seconds(61));
  world.settle();
  ASSERT_EQ(world.state(), "Waiting") << world.status().dump(1);
  EXPECT_THAT(world.condition("Planned"), HasSubstr("It has no checkpoint."));
}

TEST_F(ReleasedJob, JobThatHasNothingSavedLosesItsStepsWithTheChangeThatResumesIt) {
  JobOnTwoNodes::start();
  suspend(true);
  world.settle();
  ASSERT_EQ(world.state(), "Suspended");
  EXPECT_FALSE(world.status()["rescales"][0].contains("stepsLost")) << world.status()["rescales"].dump(1);
}

TEST_F(ReleasedJob, SuspendedJobHasNotTrainedWithAPlanThatWasOnlyPrepared) {
  start();
  world.stuck_nodes.insert("c");
  world.add_node("c", 2);
  world.pass(std::chrono::seconds(11));
  world.settle();
  ASSERT_EQ(world.record().generation, 2);
  suspend(true);
  world.settle();
  ASSERT_EQ(world.state(), "Suspended");
  ASSERT_THAT(world.status()["rescales"], SizeIs(1)) << world.status()["rescales"].dump(1);
  const Json change = world.status()["rescales"][0];
  EXPECT_EQ(change["reason"], "Suspended");
  EXPECT_EQ(change["fromGeneration"], 1);
  EXPECT_EQ(change["fromGpus"], 3);
}

TEST_F(ReleasedJob, ResumedJobHasNewPodsAndSaysWhy) {
  start();
  suspend(true);
  world.settle();
  EXPECT_EQ(world.status()["rescales"][0]["reason"], "Suspended");
  EXPECT_EQ(world.status()["rescales"][0]["toGpus"], 0);
  EXPECT_TRUE(world.status()["rescales"][0].contains("seconds"));
  EXPECT_FALSE(world.status().contains("plan")) << "nothing runs";
  suspend(false);
  world.settle();
  EXPECT_EQ(world.state(), "Running") << world.status().dump(1);
  EXPECT_EQ(world.status()["rescales"][1]["reason"], "Resumed");
  EXPECT_EQ(world.status()["rescales"][1]["toGpus"], 3);
}

TEST_F(ReleasedJob, JobBelowItsMinimumSavesItsStateWhileTheTerminatingNodeExists) {
  start({{"resources", {{"minGpus", 3}}}});
  world.sent.clear();
  world.preempt("b");
  for (int i = 0; i < 4; ++i) world.reconcile();
  ASSERT_THAT(world.sent, Not(IsEmpty()));
  EXPECT_TRUE(world.sent[0].releases_gpus);
  EXPECT_THAT(world.sent[0].agents, SizeIs(2));
  EXPECT_THAT(world.pods(), SizeIs(2));
  world.settle();
  EXPECT_EQ(world.state(), "Waiting");
  EXPECT_THAT(world.condition("Planned"), AllOf(StartsWith("False WaitingForCapacity"), HasSubstr("checkpoint")));
  EXPECT_THAT(world.pods(), IsEmpty()) << "nobody pays for GPUs that wait";
  world.remove_node("b");
  world.add_node("c", 1);
  world.settle();
  EXPECT_EQ(world.state(), "Running") << world.status().dump(1);
  EXPECT_THAT(world.nodes_in_use(), ElementsAre("a", "c"));
}

TEST_F(ReleasedJob, StateThatCannotBeSavedStaysInMemoryAndTheJobContinuesFromThere) {
  start({{"resources", {{"minGpus", 3}}}});
  world.checkpoint_fault = "/checkpoints: no such file or directory";
  world.remove_node("b");
  world.break_peers();
  world.settle();
  EXPECT_EQ(world.state(), "Waiting") << world.status().dump(1);
  EXPECT_THAT(world.condition("Planned"), HasSubstr("/checkpoints: no such file or directory"));
  EXPECT_THAT(world.nodes_in_use(), ElementsAre("a")) << "the state lives there only";
  const std::string holder = kube::uid_of(world.api_server.find("pods", world.pod_on("a")));
  world.add_node("c", 1);
  world.settle();
  EXPECT_EQ(world.state(), "Running") << world.status().dump(1);
  EXPECT_EQ(kube::uid_of(world.api_server.find("pods", world.pod_on("a"))), holder);
}

TEST_F(ReleasedJob, RestartIsOneChangeFromItsCauseToItsNewPods) {
  start({{"elasticity", {{"mode", "Restart"}}}});
  world.add_node("c", 2);
  world.pass(std::chrono::seconds(11));
  world.settle();
  EXPECT_EQ(world.state(), "Running") << world.status().dump(1);
  EXPECT_THAT(world.nodes_in_use(), ElementsAre("a", "b", "c"));
  ASSERT_THAT(world.status()["rescales"], SizeIs(1));
  const Json change = world.status()["rescales"][0];
  EXPECT_EQ(change["reason"], "ScaleUpOpportunity");
  EXPECT_EQ(change["fromGpus"], 3);
  EXPECT_EQ(change["toGpus"], 5);
  EXPECT_EQ(change["fromGeneration"], 1);
}

TEST_F(ReleasedJob, ElasticityOffSavesTheStateAndWaitsForTheSameGpus) {
  start({{"elasticity", {{"mode", "Off"}}}});
  world.sent.clear();
  world.preempt("b");
  for (int i = 0; i < 4; ++i) world.reconcile();
  ASSERT_THAT(world.sent, Not(IsEmpty()));
  EXPECT_TRUE(world.sent[0].releases_gpus);
  EXPECT_THAT(world.sent[0].agents, SizeIs(2));
  EXPECT_THAT(world.pods(), SizeIs(2));
  world.settle();
  EXPECT_THAT(world.condition("Planned"), StartsWith("False WaitingForCapacity"));
  world.add_node("c", 1);
  world.settle();
  EXPECT_EQ(world.state(), "Running") << world.status().dump(1);
  EXPECT_EQ(kube::integer_at(world.status(), {"plan", "totalGpus"}), 3);
}

TEST_F(ReleasedJob, NoPodIsCreatedBesideOneThatCouldNotSaveInTime) {
  start({{"elasticity", {{"mode", "Off"}}}});
  world.agents_hang = true;
  world.preempt("b");
  world.reconcile();
  world.reconcile();
  world.add_node("c", 1);
  world.pass(std::chrono::seconds(61));
  world.api_server.dead_nodes = {"a"};  // the node confirms the end of no pod for now
  world.reconcile();
  ASSERT_EQ(world.record().generation, 3) << "it starts again";
  std::vector<std::string> nodes;
  for (const Json& pod : world.api_server.all("pods")) nodes.push_back(kube::annotation_of(pod, kNodeAnnotation));
  std::ranges::sort(nodes);
  EXPECT_TRUE(std::ranges::adjacent_find(nodes) == nodes.end()) << "two pods are on a node of " << nodes.size();
  world.agents_hang = false;
  world.api_server.dead_nodes.clear();
  for (const Json& pod : world.api_server.all("pods")) {
    if (kube::is_deleting(pod)) world.api_server.erase("/api/v1/namespaces/default/pods", kube::name_of(pod));
  }
  world.settle();
  EXPECT_EQ(world.state(), "Running") << world.status().dump(1);
}

TEST_F(ReleasedJob, SuspendedJobResumesWhereverTheOperatorDies) {
  for (const bool after_commit : {false, true}) {
    for (int k = 0; k < 16; ++k) {
      World here;
      here.add_node("a", 2);
      here.add_job({{"checkpoint", kCheckpoint}});
      here.settle();
      here.change_job([](Json& job) { job["spec"]["suspend"] = true; });
      here.settle_through_crash(k, after_commit);
      EXPECT_EQ(here.state(), "Suspended") << "died at write " << k;
      EXPECT_THAT(here.pods(), IsEmpty()) << "died at write " << k;
      here.change_job([](Json& job) { job["spec"]["suspend"] = false; });
      here.settle_through_crash(k, after_commit);
      EXPECT_EQ(here.state(), "Running") << "died at write " << k;
      EXPECT_THAT(here.nodes_in_use(), ElementsAre("a")) << "died at write " << k;
    }
  }
}

}  // namespace
}  // namespace sailor::testing
