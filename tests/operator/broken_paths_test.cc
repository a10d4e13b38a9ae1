// Broken paths between pods that all answer the operator: which pod is left out, and for how long.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/operator/world.h"

namespace sailor::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class BrokenPaths : public ::testing::Test {
 protected:
  void start(const std::vector<std::string>& nodes, Json spec_changes = Json::object()) {
    for (const std::string& node : nodes) world.add_node(node, 2);
    world.add_job(std::move(spec_changes));
    world.settle();
  }
  void cut(const std::string& one, const std::string& other) {
    world.agent_on(one).report->unresponsive_peers.push_back(world.pod_on(other));
    world.agent_on(other).report->unresponsive_peers.push_back(world.pod_on(one));
  }
  // The workers could not connect, or a message between them was overdue.
  void break_and_settle() {
    world.break_peers();
    await_answer();
  }
  void await_answer() {
    world.pass(std::chrono::seconds(2));
    world.settle();
  }
  // Stops once the agents have received the assignment of the generation. The test then says what they do.
  void live_until_assigned(std::int64_t generation) {
    for (int i = 0; i < 9 && world.sent.back().generation < generation; ++i) {
      world.reconcile();
      world.live();
    }
    ASSERT_EQ(world.sent.back().generation, generation);
  }
  void says(const std::string& node, WorkerPhase phase, std::int64_t generation) {
    for (WorkerReport& worker : world.agent_on(node).report->workers) {
      worker.phase = phase;
      worker.generation = generation;
    }
    world.agent_on(node).broken_since = phase == WorkerPhase::kBroken ? std::optional(world.now) : std::nullopt;
  }
  // Returns the names of the pods that take part in the generation.
  [[nodiscard]] std::vector<std::string> pods_in(std::int64_t generation) const {
    std::vector<std::string> names;
    const auto found = std::ranges::find(world.sent, generation, &Assignment::generation);
    if (found == world.sent.end()) return names;
    for (const AgentAddress& agent : found->agents) names.push_back(agent.name);
    return names;
  }
  World world;
};

TEST_F(BrokenPaths, OneOfTwoPodsThatDoNotReachEachOtherIsLeftOut) {
  start({"a", "b", "c"});
  cut("a", "b");
  world.settle();
  EXPECT_EQ(world.generation(), 1) << "they train on";
  break_and_settle();
  EXPECT_EQ(world.generation(), 2);
  EXPECT_THAT(world.nodes_in_use(), ElementsAre("a", "c"));
  EXPECT_THAT(world.condition("Running"), StartsWith("True"));
  const Json change = world.status()["rescales"][0];
  EXPECT_EQ(change["reason"], "PathLost");
  EXPECT_THAT(change["message"].get<std::string>(), HasSubstr("does not reach pod"));
  EXPECT_THAT(world.events(), Contains("PathLost"));
}

TEST_F(BrokenPaths, PodThatReachesNoOtherIsLeftOut) {
  start({"a", "b", "c"});
  cut("a", "b");
  cut("a", "c");
  break_and_settle();
  EXPECT_THAT(world.nodes_in_use(), ElementsAre("b", "c"));
  EXPECT_THAT(world.status()["rescales"][0]["message"].get<std::string>(), HasSubstr("and 1 more"));
}

TEST_F(BrokenPaths, PathIsBrokenIfOnlyOneEndHasNoticed) {
  start({"a", "b", "c"});
  world.agent_on("b").report->unresponsive_peers.push_back(world.pod_on("a"));
  break_and_settle();
  EXPECT_THAT(world.nodes_in_use(), ElementsAre("a", "c"));
}

TEST_F(BrokenPaths, UnreachablePodDoesNotTakePartAlthoughItHoldsState) {
  start({"a", "b", "c"});
  cut("a", "b");
  break_and_settle();
  EXPECT_THAT(pods_in(2), ElementsAre(world.pod_on("a"), world.pod_on("c"))) << "they would wait for it";
}

TEST_F(BrokenPaths, LeavingPodIsLeftOutRatherThanOneThatStays) {
  start({"a", "b", "c"});
  const std::string leaving = world.pod_on("c");
  world.preempt("c");
  live_until_assigned(2);
  EXPECT_THAT(pods_in(2), Contains(leaving));
  for (const char* node : {"a", "b", "c"}) says(node, WorkerPhase::kBroken, 2);
  cut("a", "c");
  await_answer();
  EXPECT_THAT(pods_in(3), ElementsAre(world.pod_on("a"), world.pod_on("b")));
  EXPECT_THAT(world.nodes_in_use(), ElementsAre("a", "b"));
  EXPECT_THAT(world.condition("Running"), StartsWith("True"));
}

TEST_F(BrokenPaths, JoiningPodIsLeftOutEvenIfItHasMoreGpus) {
  start({"a", "b"});
  world.add_node("big", 8);
  world.pass(std::chrono::seconds(11));
  live_until_assigned(2);
  for (const char* node : {"a", "b"}) says(node, WorkerPhase::kTraining, 1);  // they train on meanwhile
  says("big", WorkerPhase::kBroken, 2);
  cut("a", "big");
  await_answer();
  EXPECT_THAT(world.nodes_in_use(), ElementsAre("a", "b"));
  EXPECT_EQ(world.generation(), 3);
}

TEST_F(BrokenPaths, BrokenPathWhileTheStateIsSavedLosesNoTime) {
  start({"a", "b"}, {{"checkpoint", {{"path", "/checkpoints"}}}});
  world.change_job([](Json& job) { job["spec"]["suspend"] = true; });
  live_until_assigned(2);
  for (const char* node : {"a", "b"}) says(node, WorkerPhase::kBroken, 2);
  cut("a", "b");
  const std::string reached = world.pod_on("a");
  await_answer();
  EXPECT_THAT(pods_in(3), ElementsAre(reached));
  EXPECT_EQ(world.state(), "Suspended") << world.condition("Suspended");
  EXPECT_THAT(world.pods(), IsEmpty());
}

TEST_F(BrokenPaths, PathIsTriedAgainSoonAndThenLessAndLessOften) {
  start({"a", "b", "c"});
  for (const int pause : {30, 60, 120, 240, 480, 960, 1920, 3600, 3600}) {
    cut("a", "b");
    break_and_settle();
    world.pass(std::chrono::seconds(pause - 1));
    world.settle();
    EXPECT_THAT(world.nodes_in_use(), ElementsAre("a", "c")) << pause;
    for (const char* node : {"a", "c"}) world.agent_on(node).report->unresponsive_peers.clear();
    world.pass(std::chrono::seconds(1));
    world.settle();
    ASSERT_THAT(world.nodes_in_use(), ElementsAre("a", "b", "c")) << pause;
  }
}

TEST_F(BrokenPaths, PathThatWorkedForAsLongAsItsQuarantineIsTriedAgainSoon) {
  start({"a", "b", "c"});
  for (int time = 0; time < 3; ++time) {
    cut("a", "b");
    break_and_settle();
    for (const char* node : {"a", "c"}) world.agent_on(node).report->unresponsive_peers.clear();
    world.pass(std::chrono::seconds(30));
    world.settle();
    ASSERT_THAT(world.nodes_in_use(), ElementsAre("a", "b", "c")) << time;
    world.pass(std::chrono::seconds(31));
    world.settle();
  }
}

TEST_F(BrokenPaths, BrokenPathIsForgottenOnceThePodHasASlotAgain) {
  start({"a", "b"}, {{"resources", {{"minGpus", 4}}}});
  world.stuck_nodes.insert("c");
  world.add_node("c", 2);
  cut("a", "b");
  break_and_settle();
  ASSERT_EQ(world.generation(), 2) << "it waits for a pod on node c";
  for (const char* node : {"a", "b"}) world.agent_on(node).report->unresponsive_peers.clear();
  world.pass(world.settings.start_limit + std::chrono::seconds(1));
  world.settle();
  EXPECT_THAT(world.nodes_in_use(), ElementsAre("a", "b"));
  EXPECT_THAT(world.condition("Running"), StartsWith("True"));
  const std::string back = world.pod_on("b");
  world.add_node("d", 2);
  world.preempt("b");
  world.settle();
  EXPECT_THAT(pods_in(world.generation()), Contains(back)) << "what it holds now is needed";
}

// The others of its generation are gone, so nobody is left whose going over to the next one would fence it.
TEST_F(BrokenPaths, UnreachablePodIsRemovedIfTheJobWouldWaitForIt) {
  start({"a", "b"}, {{"resources", {{"minGpus", 4}}}});
  world.stuck_nodes.insert("c");
  world.add_node("c", 4);
  cut("a", "b");
  break_and_settle();
  ASSERT_EQ(world.generation(), 2) << "it waits for a pod on node c";
  ASSERT_THAT(world.nodes_in_use(), Contains("b")) << "its state may be needed still";
  world.remove_node("a");
  world.stuck_nodes.clear();
  world.settle();
  EXPECT_THAT(world.nodes_in_use(), ElementsAre("c"));
  EXPECT_THAT(world.condition("Running"), StartsWith("True")) << world.condition("PodsReady");
}

}  // namespace
}  // namespace sailor::testing
