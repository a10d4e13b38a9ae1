// Who answers is not dead: pods that live although the API server says that they, or their nodes, are gone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/operator/job_on_two_nodes.h"

namespace sailor::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::StartsWith;

class LivingPods : public JobOnTwoNodes {};

TEST_F(LivingPods, PodOfANodeThatLosesItsLabelTrainsOn) {
  start();
  world.lose_label("b");
  world.settle();
  EXPECT_EQ(world.generation(), 1);
  EXPECT_EQ(world.state(), "Running") << world.status().dump(1);
  EXPECT_THAT(world.nodes_in_use(), ElementsAre("a", "b"));
}

TEST_F(LivingPods, PodOfANodeWithoutItsLabelIsLostOnceItDoesNotAnswer) {
  start();
  world.lose_label("b");
  world.settle();
  world.agent_on("b").unanswered_polls = 2;
  world.break_peers();
  world.settle();
  EXPECT_EQ(world.generation(), 2);
  EXPECT_EQ(world.state(), "Running") << world.status().dump(1);
}

TEST_F(LivingPods, PodWhoseNodeObjectIsDeletedTrainsOn) {
  start();
  world.api_server.erase("/api/v1/nodes", "b");
  world.settle();
  EXPECT_EQ(world.generation(), 1);
  EXPECT_EQ(world.state(), "Running") << world.status().dump(1);
}

TEST_F(LivingPods, PodThatIsDeletedByForceHandsOverItsState) {
  start();
  const std::string uid = kube::uid_of(world.api_server.find("pods", world.pod_on("b")));
  world.force_delete("b");
  world.reconcile();
  EXPECT_EQ(world.generation(), 1) << "its last answer may be from before its end";
  world.pass(std::chrono::seconds(1));
  world.sent.clear();
  world.settle();
  ASSERT_EQ(world.generation(), 2);
  EXPECT_EQ(world.sent.front().agents.size(), 2U) << "the pod takes part until it has sent its state";
  EXPECT_THAT(world.condition("Degraded"), StartsWith("True NodeTerminating"));
  EXPECT_EQ(world.agents.at(uid).report->workers[0].phase, WorkerPhase::kReleased);
  EXPECT_EQ(world.state(), "Running") << world.status().dump(1);
}

TEST_F(LivingPods, PodThatIsDeletedByForceAndDoesNotAnswerIsLost) {
  start();
  world.agent_on("b").unanswered_polls = 2;
  world.force_delete("b");
  world.settle();
  EXPECT_EQ(world.generation(), 2);
  EXPECT_EQ(world.state(), "Running") << world.status().dump(1);
  EXPECT_EQ(world.sent.back().agents.size(), 1U);
}

// The two trained together, so neither can train without the other; but a lone pod could.
TEST_F(LivingPods, JobDoesNotStartElsewhereWhileItsOnlyPodAnswers) {
  world.add_node("a", 2);
  world.add_job();
  world.settle();
  world.add_node("b", 1);
  world.api_server.erase("/api/v1/nodes", "a");
  world.restart_operator();  // the new operator has not polled the agent yet
  for (auto& [uid, agent] : world.agents) agent.report.reset();
  world.sent.clear();
  world.settle();
  EXPECT_EQ(world.sent.size(), 0U);
}

}  // namespace
}  // namespace sailor::testing
