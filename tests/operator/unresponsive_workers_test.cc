// Pods and workers that give no answer while the others train: which of them are given up.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/operator/world.h"

namespace sailor::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Unresponsive : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* node : {"a", "b", "c"}) world.add_node(node, 2);
    world.add_job();
    world.settle();
  }
  void leaves_polls_unanswered(const std::string& node, int polls) {
    world.agent_on(node).unanswered_polls = polls;
    world.agent_on(node).unanswered_since = world.now;
  }
  // Pods that were left out are removed after this time, because their trainers have not failed.
  void pass_without_a_word_of_kubelets() {
    world.pass(std::chrono::seconds(10));
    world.settle();
    EXPECT_EQ(world.generation(), 2);
  }
  void says_of(const std::string& node, const std::string& other) {
    world.agent_on(node).report->unresponsive_peers.push_back(world.pod_on(other));
  }
  World world;
};

TEST_F(Unresponsive, PodThatAnswersNeitherAPeerNorTheOperatorEndsTheGeneration) {
  leaves_polls_unanswered("b", 2);
  says_of("a", "b");
  world.pass(std::chrono::seconds(2));
  world.settle();
  EXPECT_EQ(world.generation(), 2);
  pass_without_a_word_of_kubelets();
  EXPECT_THAT(world.nodes_in_use(), ElementsAre("a", "c"));
  const Json change = world.status()["rescales"][0];
  EXPECT_EQ(change["reason"], "NodeLost");
  EXPECT_EQ(change["parts"]["detect"], "2.000");
  EXPECT_THAT(change["message"].get<std::string>(), HasSubstr("on node b does not answer"));
}

TEST_F(Unresponsive, PodThatAnswersItsPeersIsNotLost) {
  leaves_polls_unanswered("b", 60);
  world.settle();
  EXPECT_EQ(world.generation(), 1);
}

TEST_F(Unresponsive, PodThatAnswersTheOperatorIsNotLost) {
  says_of("a", "b");
  says_of("c", "b");
  world.settle();
  EXPECT_EQ(world.generation(), 1);
  leaves_polls_unanswered("b", 1);
  world.settle();
  EXPECT_EQ(world.generation(), 1);
}

TEST_F(Unresponsive, ReportOfAnUnresponsivePodDoesNotCount) {
  says_of("a", "b");
  leaves_polls_unanswered("a", 9);
  leaves_polls_unanswered("b", 9);
  world.settle();
  EXPECT_EQ(world.generation(), 1);
}

TEST_F(Unresponsive, OccasionallyUnresponsiveWorkerIsAFaultOfItsMachine) {
  for (const std::int64_t step : {5, 9}) {
    world.silence_worker(world.pod_on("b"), step);
    world.settle();
    EXPECT_THAT(world.nodes_in_use(), ElementsAre("a", "c"));
    EXPECT_EQ(world.status()["rescales"].back()["reason"], "WorkerUnresponsive");
    world.pass(std::chrono::seconds(11));
    world.settle();
    EXPECT_THAT(world.nodes_in_use(), ElementsAre("a", "b", "c")) << "its node is used again";
  }
  EXPECT_EQ(world.status()["restarts"], 0);
}

TEST_F(Unresponsive, UnresponsiveWorkerAtTheSameStepAgainIsAFailureOfTheJob) {
  int restarts = 0;
  for (const char* node : {"a", "b", "c"}) {
    world.silence_worker(world.pod_on(node), 5);
    world.settle();
    EXPECT_EQ(world.status()["restarts"], restarts++) << "after the one on node " << node;
    world.pass(std::chrono::seconds(20));
    world.settle();
    ASSERT_THAT(world.nodes_in_use(), ElementsAre("a", "b", "c"));
  }
  EXPECT_EQ(world.status()["rescales"][0]["reason"], "WorkerUnresponsive");
  EXPECT_EQ(world.status()["rescales"][2]["reason"], "TrainerFailed");
}

TEST_F(Unresponsive, TwoUnresponsivePodsAreBothLeftOutAlthoughNobodyMissesOneYet) {
  leaves_polls_unanswered("b", 2);
  leaves_polls_unanswered("c", 2);
  says_of("a", "b");
  world.settle();
  EXPECT_EQ(world.generation(), 2);
  pass_without_a_word_of_kubelets();
  EXPECT_THAT(world.nodes_in_use(), ElementsAre("a"));
}

}  // namespace
}  // namespace sailor::testing
