// Pods that are to join a job that trains and do not, pods that fail while others could continue, and what the history
// says about a change.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/protocol/timeouts.h"
#include "tests/operator/job_on_two_nodes.h"

namespace sailor::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

class JoiningPods : public JobOnTwoNodes {
 protected:
  void SetUp() override { start(); }
  void comes(const std::string& node) {
    world.add_node(node, 2);
    world.pass(std::chrono::seconds(11));
    world.settle();
  }
};

TEST_F(JoiningPods, JobTrainsWhileItWaitsForAJoiningPod) {
  world.stuck_nodes.insert("c");
  comes("c");
  EXPECT_EQ(world.condition("Running"), "True Training: The workers train.");
  EXPECT_THAT(world.condition("PodsReady"), StartsWith("False PodsPending"));
  world.stuck_nodes.clear();
  world.settle();
  EXPECT_THAT(world.nodes_in_use(), ElementsAre("a", "b", "c"));
  EXPECT_EQ(world.generation(), 2);
}

TEST_F(JoiningPods, JoiningPodIsReadyOnceItsWorkersHaveReported) {
  world.workers_are_mute = true;
  comes("c");
  EXPECT_EQ(world.sent.back().generation, 1) << "the others would stop and wait for it";
  world.speak();
  world.settle();
  EXPECT_EQ(world.sent.back().generation, 2);
  EXPECT_EQ(world.state(), "Running");
}

TEST_F(JoiningPods, AgentThatRefusesItsAssignmentIsNamedWithItsWords) {
  world.agent_on("b").refusal = "the field pipeline is missing";
  world.settle();
  EXPECT_THAT(world.condition("PodsReady"), AllOf(StartsWith("False AgentRefuses"), HasSubstr(world.pod_on("b")),
                                                  HasSubstr("pipeline is missing. ")));
  world.agent_on("b").refusal.clear();
  world.settle();
  EXPECT_THAT(world.condition("PodsReady"), StartsWith("True AllPodsAnswer"));
}

TEST_F(JoiningPods, JoiningPodWhoseWorkersNeverReportIsGivenUp) {
  world.workers_are_mute = true;
  comes("c");
  world.pass(std::chrono::minutes(11));
  world.settle();
  EXPECT_EQ(world.generation(), 1);
  EXPECT_THAT(world.nodes_in_use(), ElementsAre("a", "b"));
  EXPECT_THAT(world.events(), Contains("ChangeWithdrawn"));
}

TEST_F(JoiningPods, JoiningPodThatDoesNotStartIsGivenUpAndItsNodeQuarantined) {
  world.stuck_nodes.insert("c");
  comes("c");
  world.pass(std::chrono::minutes(11));
  world.settle();
  EXPECT_EQ(world.generation(), 1) << "nobody was notified of generation 2";
  EXPECT_EQ(world.state(), "Running") << world.status().dump(1);
  EXPECT_THAT(world.nodes_in_use(), ElementsAre("a", "b"));
  EXPECT_THAT(world.events(), Contains("ChangeWithdrawn"));
  EXPECT_EQ(world.status()["rescales"][0]["withdrawn"], true);
  world.stuck_nodes.clear();
  world.pass(std::chrono::minutes(11));
  world.settle();
  EXPECT_EQ(world.generation(), 3) << "a number is used only once";
  EXPECT_THAT(world.status()["rescales"], SizeIs(1)) << "withdrawn attempts do not displace other entries";
  EXPECT_THAT(world.nodes_in_use(), ElementsAre("a", "b", "c"));
}

TEST_F(JoiningPods, JobThatFinishesMeanwhileIsComplete) {
  world.stuck_nodes.insert("c");
  comes("c");
  world.finish_pods();
  world.settle();
  EXPECT_EQ(world.state(), "Complete") << world.status().dump(1);
  EXPECT_THAT(world.nodes_in_use(), ElementsAre("a", "b")) << "the pod that was to join does not keep its GPUs";
}

TEST_F(JoiningPods, JobThatFinishesBeforeItsAgentsTakeTheNewPlanIsComplete) {
  world.agents_hang = true;
  comes("c");
  const std::string joining = world.pod_on("c");
  for (const std::string& pod : world.pods()) {
    if (pod != joining) world.finish_pod(pod);
  }
  world.settle();
  EXPECT_EQ(world.state(), "Complete") << world.status().dump(1);
  EXPECT_THAT(world.nodes_in_use(), ElementsAre("a", "b"));
}

TEST_F(JoiningPods, FailureOfAJoiningPodDoesNotCount) {
  world.stuck_nodes.insert("c");
  comes("c");
  world.fail_pod(world.pod_on("c"), "cannot read /data/*: no such file");
  world.settle();
  EXPECT_EQ(world.generation(), 1);
  EXPECT_EQ(world.state(), "Running") << world.status().dump(1);
  EXPECT_EQ(world.status()["restarts"], 0);
  EXPECT_THAT(world.nodes_in_use(), ElementsAre("a", "b"));
}

TEST_F(JoiningPods, ChangeIsWithdrawnIfTheJobLosesANodeMeanwhile) {
  world.stuck_nodes.insert("c");
  comes("c");
  world.remove_node("b");
  world.break_peers();
  world.settle();
  EXPECT_EQ(world.state(), "Running") << "it does not wait for a pod that may never come";
  EXPECT_THAT(world.nodes_in_use(), ElementsAre("a"));
  EXPECT_EQ(world.generation(), 3);
}

TEST_F(JoiningPods, JobContinuesWithoutAJoiningPodThatFailsAfterItWasNotified) {
  world.agents_hang = true;
  comes("c");
  world.agents_hang = false;
  world.fail_pod(world.pod_on("c"), "the machine has no AVX");
  world.settle();
  EXPECT_EQ(world.state(), "Running") << world.status().dump(1);
  EXPECT_EQ(world.status()["restarts"], 0);
  EXPECT_THAT(world.nodes_in_use(), ElementsAre("a", "b"));
  EXPECT_THAT(world.condition("Degraded"), StartsWith("True JoiningPodFailed"));
}

TEST_F(JoiningPods, JoiningPodThatNeverAnswersWhileOthersTrainIsGivenUp) {
  world.agents_hang = true;
  comes("c");
  world.agents[kube::uid_of(world.api_server.find("pods", world.pod_on("c")))].unanswered_polls = 5;
  for (int i = 0; i < 3; ++i) world.reconcile();
  EXPECT_EQ(world.generation(), 3);
  world.agents_hang = false;
  world.settle();
  EXPECT_EQ(world.state(), "Running") << world.status().dump(1);
  world.pass(std::chrono::seconds(10));  // its kubelet says nothing
  world.settle();
  EXPECT_THAT(world.nodes_in_use(), ElementsAre("a", "b"));
}

TEST_F(JoiningPods, JoiningPodThatIsKilledForMemoryWhileOthersTrainDoesNotCount) {
  world.agents_hang = true;
  comes("c");
  world.agent_on("c").unanswered_polls = 5;
  for (int i = 0; i < 3; ++i) world.reconcile();
  world.agents_hang = false;
  world.fail_pod(world.pod_on("c"), "the trainer was ended: OOMKilled (exit code 137)");
  world.settle();
  EXPECT_EQ(world.state(), "Running") << world.status().dump(1);
  EXPECT_EQ(world.status()["restarts"], 0);
  world.pass(std::chrono::seconds(61));
  world.settle();
  EXPECT_THAT(world.nodes_in_use(), ElementsAre("a", "b")) << "it would fail again";
}

TEST_F(JoiningPods, JoiningPodMayReceiveStateForAWhileBeforeItTakesPart) {
  world.agents_hang = true;
  comes("c");
  world.pass(world.settings.start_limit + kStateStreamingLimit - std::chrono::seconds(30));
  for (int i = 0; i < 3; ++i) world.reconcile();
  EXPECT_EQ(world.generation(), 2);
  world.pass(std::chrono::seconds(60));
  for (int i = 0; i < 3; ++i) world.reconcile();
  EXPECT_EQ(world.generation(), 3) << world.status().dump(1);
}

TEST_F(JoiningPods, FrozenPodIsGivenUpWhileOthersWaitForIt) {
  world.add_node("c", 1);
  world.pass(std::chrono::seconds(11));
  world.settle();
  world.agents_hang = true;
  world.remove_node("b");
  world.break_peers();
  for (int i = 0; i < 3; ++i) world.reconcile();
  const std::string frozen = kube::uid_of(world.api_server.find("pods", world.pod_on("c")));
  for (auto& [uid, agent] : world.agents) {
    for (WorkerReport& worker : agent.report->workers) worker = {worker.gpu, WorkerPhase::kPreparing, 3, 1, ""};
    agent.preparing_since = world.now;
  }
  world.agents[frozen].unanswered_polls = 5;
  for (int i = 0; i < 3; ++i) world.reconcile();
  EXPECT_EQ(world.generation(), 4);
  world.agents_hang = false;
  world.settle();
  EXPECT_EQ(world.state(), "Running") << world.status().dump(1);
  world.pass(std::chrono::seconds(10));  // its kubelet says nothing
  world.settle();
  EXPECT_THAT(world.nodes_in_use(), ElementsAre("a"));
}

TEST_F(JoiningPods, FailureOfATrainingPodCountsAndTheOthersContinueAtOnce) {
  world.fail_pod(world.pod_on("b"), "the worker process of GPU 0 ended with signal 11");
  world.settle();
  EXPECT_EQ(world.state(), "Running") << world.status().dump(1);
  EXPECT_EQ(world.status()["restarts"], 1);
  EXPECT_THAT(world.nodes_in_use(), ElementsAre("a"));
  world.pass(std::chrono::seconds(11));
  world.settle();
  EXPECT_THAT(world.nodes_in_use(), ElementsAre("a", "b")) << "its node is used again";
  EXPECT_EQ(world.status()["restarts"], 1);
}

TEST_F(JoiningPods, PodWhoseContainerTheKubeletHasLostIsALossAndNoFailure) {
  Json pod = world.api_server.find("pods", world.pod_on("b"));
  pod["status"]["phase"] = "Failed";
  const Json terminated = {{"exitCode", 137}, {"reason", "ContainerStatusUnknown"}, {"message", "not located"}};
  pod["status"]["containerStatuses"] = Json::array({{{"name", "trainer"}, {"state", {{"terminated", terminated}}}}});
  world.api_server.put("/api/v1/namespaces/default/pods", pod);
  world.agents.erase(kube::uid_of(pod));
  world.settle();
  EXPECT_EQ(world.state(), "Running") << world.status().dump(1);
  EXPECT_EQ(world.status()["restarts"], 0);
  EXPECT_EQ(world.status()["rescales"][0]["reason"], "PodLost");
}

TEST_F(JoiningPods, ChangesCompleteWhereverTheOperatorDies) {
  for (const bool after_commit : {false, true}) {
    for (int k = 0; k < 10; ++k) {
      World here;
      here.add_node("a", 2);
      here.add_job();
      here.settle();
      here.add_node("c", 2);
      here.pass(std::chrono::seconds(11));
      here.settle_through_crash(k, after_commit);
      EXPECT_EQ(here.state(), "Running") << "died at write " << k;
      EXPECT_THAT(here.nodes_in_use(), ElementsAre("a", "c")) << "died at write " << k;
      here.remove_node("c");
      here.break_peers();
      here.settle_through_crash(k, after_commit);
      EXPECT_EQ(here.state(), "Running") << "died at write " << k;
      EXPECT_THAT(here.nodes_in_use(), ElementsAre("a")) << "died at write " << k;
    }
  }
}

TEST_F(JoiningPods, PoolWithoutAPriceIsNotUsedAndReportedOnce) {
  Json node = world.api_server.find("nodes", "a");
  node["metadata"] = {{"name", "x"}, {"labels", node["metadata"]["labels"]}};
  node["metadata"]["labels"]["cloud.google.com/gke-accelerator"] = "nvidia-of-tomorrow";
  world.api_server.put("/api/v1/nodes", node);
  world.settle();
  world.settle();
  EXPECT_THAT(world.status()["unpricedPools"], ElementsAre("us-central1-a/nvidia-of-tomorrow/spot"));
  EXPECT_EQ(std::ranges::count(world.events(), "PoolWithoutPrice"), 1);
}

TEST_F(JoiningPods, PoolOfAnUnknownAcceleratorIsNotUsedUntilItsGpuPoolDescribesIt) {
  Json node = world.api_server.find("nodes", "a");
  node["metadata"] = {{"name", "x"}, {"labels", node["metadata"]["labels"]}};
  node["metadata"]["labels"]["cloud.google.com/gke-accelerator"] = "nvidia-of-tomorrow";
  world.api_server.put("/api/v1/nodes", node);
  Json pool = {{"metadata", {{"name", "tomorrow"}}},
               {"spec",
                {{"region", "us-central1"},
                 {"zone", "us-central1-a"},
                 {"accelerator", "nvidia-of-tomorrow"},
                 {"provisioning", "Spot"},
                 {"gpusPerNode", 2},
                 {"maxNodes", 2},
                 {"pricePerGpuHour", "1.00"}}}};
  world.api_server.put("/apis/sailor.dev/v1alpha1/gpupools", pool);
  world.pass(std::chrono::seconds(11));
  world.settle();
  world.settle();
  EXPECT_EQ(world.state(), "Running");
  EXPECT_THAT(world.nodes_in_use(), ElementsAre("a", "b"));
  EXPECT_FALSE(world.status().contains("unpricedPools"));
  EXPECT_THAT(world.status()["poolsOfUnknownAccelerators"], ElementsAre("us-central1-a/nvidia-of-tomorrow/spot"));
  EXPECT_EQ(std::ranges::count(world.events(), "PoolOfUnknownAccelerator"), 1);
  pool["spec"]["gpu"] = {
      {"memoryGib", "200"}, {"teraflops", {{"fp32", "1000"}, {"bf16", "2000"}}}, {"memoryGigabytesPerSecond", "8000"}};
  world.api_server.put("/apis/sailor.dev/v1alpha1/gpupools", pool);
  world.pass(std::chrono::seconds(11));
  world.settle();
  EXPECT_THAT(world.nodes_in_use(), ElementsAre("a", "b", "x"));
  EXPECT_FALSE(world.status().contains("poolsOfUnknownAccelerators"));
}

TEST_F(JoiningPods, NodeOfAnUnknownAcceleratorWithoutAGpuPoolDoesNotDisturbAJob) {
  Json node = world.api_server.find("nodes", "a");
  node["metadata"] = {{"name", "x"}, {"labels", node["metadata"]["labels"]}};
  node["metadata"]["labels"]["cloud.google.com/gke-accelerator"] = "nvidia-of-tomorrow";
  world.api_server.put("/api/v1/nodes", node);
  comes("c");
  EXPECT_EQ(world.state(), "Running");
  EXPECT_THAT(world.nodes_in_use(), ElementsAre("a", "b", "c"));
  EXPECT_THAT(world.status()["poolsOfUnknownAccelerators"], ElementsAre("us-central1-a/nvidia-of-tomorrow/spot"));
  EXPECT_THAT(world.events(), Contains("PoolOfUnknownAccelerator"));
}

TEST_F(JoiningPods, AgentsLearnTheAddressOfANewOperator) {
  world.settings.callback = "http://127.0.0.9:8082";
  world.restart_operator();
  world.settle();
  for (const auto& [uid, agent] : world.agents) EXPECT_EQ(agent.report->callback, "http://127.0.0.9:8082");
  EXPECT_EQ(world.generation(), 1);
}

TEST_F(JoiningPods, HistorySaysWhatTheSecondsOfAChangeWereSpentOn) {
  for (auto& [uid, agent] : world.agents) agent.unanswered_since.reset();
  world.remove_node("b");
  world.break_peers();
  world.pass(std::chrono::seconds(2));
  world.settle();
  const Json change = world.status()["rescales"][0];
  EXPECT_EQ(change["reason"], "NodeLost");
  EXPECT_EQ(change["source"], "Memory");
  EXPECT_EQ(change["followedBytes"], 2400);
  EXPECT_EQ(change["movedBytes"], 1200);
  EXPECT_EQ(change["stoppedSeconds"], "0.400");
  EXPECT_EQ(change["parts"]["detect"], "2.000") << change.dump(1);
  EXPECT_EQ(change["parts"]["transfer"], "0.100");
  EXPECT_EQ(change["seconds"], "2.000");
  EXPECT_THAT(change["message"].get<std::string>(), HasSubstr("on node b does not answer"));
}

}  // namespace
}  // namespace sailor::testing
