// The life of a job, whatever happens to it: decisions, applied to an API server in memory.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/model/names.h"
#include "operator/model/record.h"
#include "operator/reconcile/decide/suspension.h"
#include "tests/operator/job_on_two_nodes.h"

namespace sailor::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

class LifeOfJob : public JobOnTwoNodes {};

TEST_F(LifeOfJob, NewJobIsPlannedPlacedAndTrained) {
  start();
  EXPECT_EQ(world.state(), "Running") << world.status().dump(1);
  EXPECT_THAT(world.nodes_in_use(), ElementsAre("a", "b"));
  EXPECT_EQ(world.generation(), 1);
  EXPECT_EQ(kube::integer_at(world.status(), {"plan", "totalGpus"}), 3);
  EXPECT_TRUE(check_complete(world.sent.at(0)).has_value());
  EXPECT_THAT(world.events(), Contains("Planned"));
}

TEST_F(LifeOfJob, RecordNamesOtherPlansThatThePlannerFound) {
  start();
  const auto gpus = [this] {
    std::vector<int> of_others;
    for (const AlternativePlan& other : world.record().summary.alternatives) of_others.push_back(other.gpus);
    return of_others;
  };
  EXPECT_THAT(gpus(), ElementsAre(2, 1)) << "the plan in use has 3";
  EXPECT_EQ(world.record().summary.alternatives.at(0).iteration_seconds, 0.5);
  world.add_node("c", 9);
  world.settle();
  world.pass(std::chrono::minutes(1));
  world.settle();
  EXPECT_THAT(gpus(), ElementsAre(11, 9, 7, 5, 3, 1)) << "the fastest, the cheapest and some between them";
}

TEST_F(LifeOfJob, AssignmentsHaveTheTimesThatTheGenerationWasPlannedWith) {
  world.agents_hang = true;  // so the operator sends the assignments again and again
  start();
  const auto times = world.sent.at(0).schedule_times;
  ASSERT_TRUE(times.has_value());
  EXPECT_EQ(times->replicas.at(0).at(2).forward, world.forward_pass);
  world.forward_pass *= 2;  // profiles drift
  world.sent.clear();
  world.restart_operator();
  world.settle();
  ASSERT_THAT(world.sent, Not(IsEmpty()));
  for (const Assignment& sent : world.sent) EXPECT_EQ(sent.schedule_times, times);
  world.agents_hang = false;
  world.settle();
  world.pass(std::chrono::hours(1));  // a new plan might be adopted
  world.restart_operator();
  world.settle();
  EXPECT_EQ(world.generation(), 1) << "a plan that differs only in its times is the same plan";
  EXPECT_EQ(world.record().schedule_times, times);
  world.remove_node("b");
  world.settle();
  EXPECT_EQ(world.sent.back().generation, 2);
  EXPECT_EQ(world.sent.back().schedule_times->replicas.at(0).at(0).forward, world.forward_pass);
}

TEST_F(LifeOfJob, NothingIsWrittenWhileNothingChanges) {
  start();
  world.pass(std::chrono::seconds(20));
  world.settle();
  const int before = world.api_server.writes;
  for (int i = 0; i < 5; ++i) world.reconcile();
  EXPECT_EQ(world.api_server.writes, before);
}

TEST_F(LifeOfJob, StatusStaysAsItIsUntilANewOperatorHasAskedTheAgents) {
  start();
  const Json before = world.api_server.find("trainingjobs", world.job.name).at("status");
  ASSERT_EQ(before.at("state"), "Running");
  const auto agents = std::exchange(world.agents, {});
  const int writes = world.api_server.writes;
  world.reconcile();
  EXPECT_EQ(world.api_server.find("trainingjobs", world.job.name).at("status"), before);
  EXPECT_EQ(world.api_server.writes, writes);
  world.agents = agents;
  for (auto& [uid, agent] : world.agents) agent = AgentView{.unanswered_polls = 1};
  world.reconcile();
  EXPECT_NE(world.api_server.find("trainingjobs", world.job.name).at("status").at("state"), "Running");
}

TEST_F(LifeOfJob, SurvivorsContinueAfterTheLossOfANode) {
  start();
  world.remove_node("b");
  world.settle();
  EXPECT_EQ(world.state(), "Running") << world.status().dump(1);
  EXPECT_EQ(world.generation(), 2);
  EXPECT_THAT(world.condition("Degraded"), StartsWith("True NodeLost"));
  EXPECT_EQ(world.status()["rescales"][0]["reason"], "NodeLost");
  EXPECT_EQ(world.status()["rescales"][0]["toGpus"], 2);
}

TEST_F(LifeOfJob, NodeIsLostIfItsAgentIsUnresponsiveWhileAPeerIsBroken) {
  start();
  for (auto& [uid, agent] : world.agents) {
    if (agent.report->workers.size() == 1) agent.unanswered_polls = 2;
  }
  world.reconcile();
  EXPECT_EQ(world.generation(), 1) << "an unresponsive agent alone is no loss";
  world.break_peers();
  world.settle();
  EXPECT_EQ(world.generation(), 2);
  EXPECT_THAT(world.nodes_in_use(), ElementsAre("a", "b")) << "the kubelet may say that the trainer has failed";
  world.pass(std::chrono::seconds(10));
  world.settle();
  EXPECT_EQ(world.generation(), 2);
  EXPECT_THAT(world.nodes_in_use(), ElementsAre("a"))
      << "the pod of the quarantined node is removed, and no other is created there";
  world.pass(std::chrono::seconds(51));
  world.settle();
  EXPECT_THAT(world.nodes_in_use(), ElementsAre("a", "b"))
      << "the node is still ready, so Kubernetes is in contact with it";
}

TEST_F(LifeOfJob, PreemptedNodeHandsOverItsState) {
  start();
  world.sent.clear();
  world.preempt("b");
  world.reconcile();
  world.reconcile();
  world.reconcile();
  ASSERT_THAT(world.sent, Not(IsEmpty()));
  EXPECT_THAT(world.sent[0].agents, SizeIs(2)) << "the leaving agent is notified too";
  EXPECT_EQ(world.sent[0].training_workers(), 2);
  world.settle();
  EXPECT_THAT(world.nodes_in_use(), ElementsAre("a"));
  EXPECT_THAT(world.condition("Degraded"), StartsWith("True NodePreempted"));
}

TEST_F(LifeOfJob, NobodyIsNotifiedBeforeAllPodsThatMayHoldStateWereHeard) {
  start();
  world.preempt("b");
  world.reconcile();
  world.reconcile();
  world.restart_operator();
  for (auto& [uid, agent] : world.agents) {
    if (agent.report->workers.size() == 1) agent = AgentView{};  // the operator has not polled this agent yet
  }
  world.sent.clear();
  for (int i = 0; i < 3; ++i) world.reconcile();
  EXPECT_THAT(world.sent, Not(IsEmpty())) << "generation 2 was committed before the restart";
  for (const Assignment& assignment : world.sent) EXPECT_THAT(assignment.agents, SizeIs(2));
}

TEST_F(LifeOfJob, NewNodeIsUsed) {
  start();
  world.add_node("c", 2);
  world.settle();
  EXPECT_EQ(world.generation(), 1) << "not at once, because the last change was a moment ago";
  world.pass(std::chrono::seconds(11));
  world.settle();
  EXPECT_EQ(world.generation(), 2);
  EXPECT_THAT(world.nodes_in_use(), ElementsAre("a", "b", "c"));
  EXPECT_EQ(world.status()["rescales"][0]["reason"], "ScaleUpOpportunity");
}

TEST_F(LifeOfJob, NodeThatReturnsUnderItsNameIsUsedAlthoughItsOldPodStillExists) {
  start();
  world.preempt("b");
  for (int i = 0; i < 3; ++i) world.reconcile();
  Json left = world.api_server.find("pods", world.pod_on("b"));
  left["status"]["phase"] = "Succeeded";  // its agent was released and has ended; the pod is not removed yet
  world.api_server.put("/api/v1/namespaces/default/pods", left);
  world.agents.erase(kube::uid_of(left));
  world.remove_node("b");
  world.add_node("b", 1);
  world.pass(std::chrono::seconds(11));
  world.settle();
  EXPECT_THAT(world.nodes_in_use(), ElementsAre("a", "b"));
}

TEST_F(LifeOfJob, AgentsAreNotNeededOnceTheJobIsSuspendedDeletedOrHasEnded) {
  start();
  const Json job = world.api_server.find("trainingjobs", "job");
  EXPECT_TRUE(needs_agents(job));
  Json suspended = job;
  suspended["spec"]["suspend"] = true;
  EXPECT_TRUE(needs_agents(suspended)) << "its state is still to be saved";
  suspended["status"]["conditions"] =
      Json::array({{{"type", "Suspended"}, {"status", "True"}, {"reason", "Suspended"}}});
  EXPECT_FALSE(needs_agents(suspended));
  Json deleted = job;
  deleted["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
  EXPECT_FALSE(needs_agents(deleted));
  world.finish_pods();
  world.settle();
  EXPECT_FALSE(needs_agents(world.api_server.find("trainingjobs", "job")));
}

TEST_F(LifeOfJob, JobWaitsForCapacityAndStartsOnceThereIsEnough) {
  world.add_node("a", 1);
  world.add_job({{"resources", {{"minGpus", 2}}}});
  world.settle();
  EXPECT_EQ(world.state(), "Waiting");
  EXPECT_EQ(world.condition("Planned"), "False WaitingForCapacity: 1 GPUs are too few");
  EXPECT_THAT(world.pods(), IsEmpty());
  world.add_node("b", 1);
  world.settle();
  EXPECT_EQ(world.state(), "Running");
}

TEST_F(LifeOfJob, SuspendedJobHasNoPodsAndResumes) {
  start();
  world.change_job([](Json& job) { job["spec"]["suspend"] = true; });
  world.settle();
  EXPECT_THAT(world.pods(), IsEmpty());
  EXPECT_EQ(world.state(), "Suspended");
  world.change_job([](Json& job) { job["spec"]["suspend"] = false; });
  world.settle();
  EXPECT_EQ(world.state(), "Running") << world.status().dump(1);
  EXPECT_EQ(world.status()["rescales"][1]["reason"], "Resumed");
}

TEST_F(LifeOfJob, ASuspendedJobWithoutCheckpointSaysThatItWillBeginAgain) {
  start();
  world.change_job([](Json& job) { job["spec"]["suspend"] = true; });
  world.settle();
  EXPECT_THAT(world.condition("Suspended"),
              HasSubstr("spec.suspend is true. When you set it to false, the job starts again at step 0, because "
                        "spec.checkpoint.path is not set."));
}

// The speed in the status of a job that has trained and then, perhaps, changed.
std::string speed_in(World& world, const std::function<void()>& change) {
  for (auto& [uid, agent] : world.agents) {
    if (agent.report->progress) agent.report->progress->tokens_per_second = 512;
  }
  world.do_step({}, 1);
  world.pass(std::chrono::seconds(10));
  world.settle();
  change();
  world.settle();
  return world.status()["progress"].value("tokensPerSecond", Json("none")).dump();
}

TEST_F(LifeOfJob, TheStatusShowsNoSpeedOnceTheJobTrainsNoMore) {
  start({{"maxRestarts", 0}});
  EXPECT_EQ(speed_in(world, [] {}), "512");
  const auto suspend = [&](bool suspended) {
    world.change_job([=](Json& job) { job["spec"]["suspend"] = suspended; });
  };
  EXPECT_EQ(speed_in(world, [&] { suspend(true); }), "\"none\"") << world.status().dump(1);
  suspend(false);
  world.settle();
  EXPECT_EQ(speed_in(world, [] {}), "512") << world.status().dump(1);
  EXPECT_EQ(speed_in(world, [&] { world.fail_pod(world.pod_on("a"), "it crashed"); }), "\"none\"");
  ASSERT_EQ(world.state(), "Failed");
}

TEST_F(LifeOfJob, TheStatusShowsNoSpeedWhileTheJobWaitsForGpus) {
  start({{"checkpoint", {{"path", "/checkpoints"}}}, {"resources", {{"minGpus", 3}}}});
  EXPECT_EQ(speed_in(world, [&] { world.remove_node("b"); }), "\"none\"") << world.status().dump(1);
  ASSERT_EQ(world.state(), "Waiting");
}

TEST_F(LifeOfJob, ACompleteJobStillShowsHowFastItWas) {
  start();
  EXPECT_EQ(speed_in(world, [&] { world.finish_pods(); }), "512");
  ASSERT_EQ(world.state(), "Complete");
}

// Somebody says something about a pod, two minutes or so after the world has begun.
void say_of_pod(World& world, const Json& pod, const std::string& reason, const std::string& message, int minutes = 2) {
  const Json object = {
      {"kind", "Pod"}, {"namespace", "default"}, {"name", kube::name_of(pod)}, {"uid", pod["metadata"]["uid"]}};
  world.api_server.put("/api/v1/namespaces/default/events",
                       {{"metadata", {{"name", fmt::format("word.{}", minutes)}, {"namespace", "default"}}},
                        {"involvedObject", object},
                        {"reason", reason},
                        {"message", message},
                        {"lastTimestamp", fmt::format("2026-01-01T00:0{}:00Z", minutes)}});
}

TEST_F(LifeOfJob, APodThatDoesNotStartWaitsForWhatOnlyEventsSay) {
  world.stuck_nodes.insert("a");
  start();
  const Json pod = world.api_server.find("pods", world.pod_on("a"));
  for (const std::string reason : {"FailedAttachVolume", "FailedMapVolume", "FailedMount", "FailedCreatePodContainer",
                                   "FailedCreatePodSandBox", "FailedPrepareDynamicResources", "NetworkNotReady"}) {
    say_of_pod(world, pod, reason, "as it says");
    world.pass(std::chrono::seconds(2));
    world.settle();
    EXPECT_THAT(world.condition("PodsReady"), HasSubstr(reason + " at 2026-01-01T00:02:00Z: as it says"));
  }
  say_of_pod(world, pod, "Pulling", "Pulling image");
  world.pass(std::chrono::seconds(2));
  world.settle();
  EXPECT_THAT(world.condition("PodsReady"), Not(HasSubstr("Pulling")));
}

TEST_F(LifeOfJob, APodWhoseVolumeCannotBeMountedWaitsForWhatItsKubeletSays) {
  world.stuck_nodes.insert("a");
  start();
  Json pod = world.api_server.find("pods", world.pod_on("a"));
  const auto say = [&](int minutes, const std::string& message) {
    say_of_pod(world, pod, "FailedMount", message, minutes);
  };
  const auto be_in_state = [&](const std::string& reason) {
    pod["status"]["containerStatuses"] =
        Json::array({{{"name", "trainer"}, {"state", {{"waiting", {{"reason", reason}}}}}}});
    world.api_server.put("/api/v1/namespaces/default/pods", pod);
    world.pass(std::chrono::seconds(2));
    world.settle();
  };
  say(2, "secret \"token\" not found");
  say(1, "an older problem");
  be_in_state("ContainerCreating");
  EXPECT_THAT(world.condition("PodsReady"),
              HasSubstr("ContainerCreating. FailedMount at 2026-01-01T00:02:00Z: secret \"token\" not found"));
  be_in_state("ErrImagePull");
  EXPECT_THAT(world.condition("PodsReady"), AllOf(HasSubstr("ErrImagePull"), Not(HasSubstr("FailedMount"))))
      << "its volumes are mounted";
}

// Nothing happens in the cluster meanwhile.
TEST_F(LifeOfJob, AFirstPlanWhosePodDoesNotStartIsGivenUpAtTheStartLimit) {
  world.stuck_nodes.insert("b");
  start();
  const Time begin = world.now;
  while (world.generation() == 1 && world.requeue_after && world.now < begin + std::chrono::hours(1)) {
    world.pass(std::chrono::ceil<std::chrono::seconds>(*world.requeue_after));
    world.settle();
  }
  EXPECT_THAT(world.nodes_in_use(), ElementsAre("a"));
  EXPECT_LE(world.now, begin + world.settings.start_limit + std::chrono::seconds(1));
}

TEST_F(LifeOfJob, JobThatCannotWriteCheckpointsTrainsOnAndSaysWhy) {
  start();
  WorkerReport& worker = world.agents.begin()->second.report->workers.front();
  worker.message = "writing /checkpoints/uid/step-10/piece-000-00.bin: No space left on device";
  world.reconcile();
  EXPECT_EQ(world.state(), "Running");
  EXPECT_THAT(world.condition("Degraded"), StartsWith("True WorkerReportsProblem"));
  EXPECT_THAT(world.condition("Degraded"), HasSubstr("No space left on device"));
  EXPECT_THAT(world.events(), Contains(HasSubstr("WorkerReportsProblem")));
  worker.message.clear();
  world.reconcile();
  EXPECT_THAT(world.condition("Degraded"), StartsWith("False"));
}

TEST_F(LifeOfJob, JobOfAnotherControllerIsNotTouched) {
  start({{"managedBy", "example.com/queue"}});
  EXPECT_EQ(world.api_server.writes, 0);
}

TEST_F(LifeOfJob, AJobOfAnotherControllerIsLeftToItAlsoIfItsSpecIsInvalid) {
  start({{"managedBy", "example.com/queue"}, {"resources", {{"minGpus", 4}, {"maxGpus", 2}}}});
  EXPECT_TRUE(world.status().empty()) << world.status().dump(1);
  world.change_job([](Json& job) { job["spec"]["suspend"] = true; });
  world.settle();
  EXPECT_TRUE(world.status().empty());
}

TEST_F(LifeOfJob, ElasticityOffKeepsThePlanAndWaitsForItsGpus) {
  start({{"elasticity", {{"mode", "Off"}}}});
  world.remove_node("b");
  world.settle();
  EXPECT_THAT(world.condition("Planned"), StartsWith("False WaitingForCapacity"));
  world.add_node("c", 1);
  world.settle();
  EXPECT_EQ(world.state(), "Running") << world.status().dump(1);
  EXPECT_EQ(kube::integer_at(world.status(), {"plan", "totalGpus"}), 3);
}

TEST_F(LifeOfJob, ElasticityRestartCreatesNewPods) {
  start({{"elasticity", {{"mode", "Restart"}}}});
  const std::string before = kube::uid_of(world.api_server.all("pods")[0]);
  world.remove_node("b");
  world.settle();
  EXPECT_EQ(world.state(), "Running") << world.status().dump(1);
  for (const Json& pod : world.api_server.all("pods")) EXPECT_NE(kube::uid_of(pod), before);
}

TEST_F(LifeOfJob, PodsRegroupAfterABrokenConnectionAlthoughAllAnswer) {
  start();
  world.break_peers();
  world.pass(std::chrono::seconds(3));
  world.settle();
  EXPECT_EQ(world.generation(), 2);
  EXPECT_EQ(world.status()["rescales"][0]["reason"], "PeerLost");
  EXPECT_EQ(world.status()["rescales"][0]["toGpus"], 3);
}

TEST_F(LifeOfJob, JobTrainsWhereverTheOperatorDies) {
  for (const bool after_commit : {false, true}) {
    for (int k = 0; k < 12; ++k) {
      World here;
      here.add_node("a", 2);
      here.add_node("b", 1);
      here.add_job();
      here.settle_through_crash(k, after_commit);
      EXPECT_EQ(here.state(), "Running") << "died at write " << k;
      EXPECT_THAT(here.nodes_in_use(), ElementsAre("a", "b")) << "died at write " << k;
      EXPECT_EQ(here.generation(), 1) << "died at write " << k;
    }
  }
}

TEST_F(LifeOfJob, NoOtherJobIsPlannedOnTheGpusOfAJob) {
  start();
  // The pods of the first job take all GPUs, so none is left for a second job.
  for (const Json& pod : world.api_server.all("pods")) EXPECT_GT(gpus_of_pod(pod), 0);
  ClusterObjects objects;
  for (const Json& node : world.api_server.all("nodes")) objects.nodes.push_back(std::make_shared<const Json>(node));
  for (const Json& pod : world.api_server.all("pods")) objects.pods.push_back(std::make_shared<const Json>(pod));
  for (const NodeView& node : cluster_view(objects).nodes) EXPECT_EQ(node.used_by_others("late"), node.gpus);
}

}  // namespace
}  // namespace sailor::testing
