// Pods that are to leave a job: in a voluntary change they send their state to the pods that join.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/protocol/timeouts.h"
#include "tests/operator/job_on_two_nodes.h"

namespace sailor::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

class LeavingPods : public JobOnTwoNodes {
 protected:
  void SetUp() override { start(); }
  // The job moves from nodes a and b to c, and no agent has switched yet.
  void moves_to_another_zone() {
    world.add_node("c", 2, "us-central1-b");
    world.agents_hang = true;
    world.change_job([](Json& job) { job["spec"]["resources"]["zones"] = {"us-central1-b"}; });
    world.pass(std::chrono::seconds(11));
    world.settle();
  }
};

TEST_F(LeavingPods, LeavingPodSendsStateToJoiningPodsIfTheChangeIsVoluntary) {
  moves_to_another_zone();
  EXPECT_EQ(world.generation(), 2);
  EXPECT_THAT(world.sent.back().agents, SizeIs(3));
  EXPECT_FALSE(world.sent.back().leave_by);
  EXPECT_THAT(world.nodes_in_use(), UnorderedElementsAre("a", "b", "c")) << "it trains until it has left";
  world.agents_hang = false;
  world.settle();
  EXPECT_THAT(world.nodes_in_use(), ElementsAre("c"));
}

// The agents of pods that prepare are polled ten times as often as those of pods that train.
TEST_F(LeavingPods, MayBeRemovedBeforeTheOperatorHasSeenThatTheyHaveLeft) {
  moves_to_another_zone();
  for (WorkerReport& worker : world.agent_on("c").report.value().workers) {
    worker = {worker.gpu, WorkerPhase::kTraining, 2, 1, ""};
  }
  world.evict("a", std::chrono::seconds(30));  // told to stop, while its newest report is still the one from before
  world.settle();
  EXPECT_EQ(world.generation(), 2);
}

TEST_F(LeavingPods, AgentThatHasTakenAnAssignmentIsNotSentItAgain) {
  moves_to_another_zone();
  const std::size_t sent = world.sent.size();
  world.reconcile();
  EXPECT_GT(world.sent.size(), sent) << "no agent has answered that it has taken it";
  for (auto& [uid, agent] : world.agents) agent.report.value().assigned_generation = 2;
  const std::size_t until_taken = world.sent.size();
  world.reconcile();
  EXPECT_EQ(world.sent.size(), until_taken);
}

TEST_F(LeavingPods, AssignmentIsUrgentIfTheNodeWasGivenNotice) {
  world.preempt("b");
  world.settle();
  EXPECT_TRUE(world.sent.back().leave_by);
}

TEST_F(LeavingPods, NoticeWhileStateIsStreamedMakesTheAssignmentUrgent) {
  moves_to_another_zone();
  world.preempt("b");
  world.settle();
  EXPECT_EQ(world.generation(), 3) << "once";
  EXPECT_TRUE(world.sent.back().leave_by);
  world.agents_hang = false;
  world.settle();
  EXPECT_THAT(world.nodes_in_use(), ElementsAre("c"));
  EXPECT_EQ(world.generation(), 3);
  EXPECT_EQ(world.state(), "Running");
}

TEST_F(LeavingPods, WorkersLeaveBeforeAPreemptedNodeIsGone) {
  const Time noticed = world.now;
  world.preempt("b");
  world.settle();
  EXPECT_EQ(world.sent.back().leave_by, noticed + kTerminationNotice);
}

// The planner may need a while, or another change may be under way.
TEST_F(LeavingPods, ANoticeCountsFromWhenItWasFirstSeenHoweverLateTheDecisionIs) {
  const Time noticed = world.now;
  world.preempt("b");
  world.reconcile();
  world.pass(std::chrono::seconds(4));
  world.settle();
  ASSERT_EQ(world.generation(), 2);
  EXPECT_EQ(world.sent.back().leave_by, noticed + kTerminationNotice);
}

// An eviction may give a pod less or more time than its node would.
TEST_F(LeavingPods, WorkersLeaveBeforeTheGracePeriodOfAnEvictedPodEnds) {
  for (const int grace : {5, 40}) {
    World evicting;
    evicting.add_node("a", 2);
    evicting.add_node("b", 1);
    evicting.add_job();
    evicting.settle();
    const Time evicted = evicting.now;
    evicting.evict("b", std::chrono::seconds(grace));
    evicting.settle();
    ASSERT_EQ(evicting.generation(), 2);
    EXPECT_EQ(evicting.sent.back().leave_by, evicted + std::chrono::seconds(grace));
  }
}

TEST_F(LeavingPods, OfTwoNoticesTheShorterOneCounts) {
  world.add_node("c", 1);
  const Time noticed = world.now;
  world.evict("b", std::chrono::seconds(40));
  world.preempt("b");
  world.settle();
  EXPECT_EQ(world.sent.back().leave_by, noticed + kTerminationNotice);
}

// The node b is about to be terminated. The pod on a waits for the pod on b at the rendezvous.
class PodAtTheRendezvous : public JobOnTwoNodes {
 protected:
  void SetUp() override {
    start();
    world.agents_hang = true;
    world.preempt("b");
    world.settle();
    ASSERT_EQ(world.generation(), 2);
    set_workers("a", WorkerPhase::kPreparing);
  }
  void set_workers(const std::string& node, WorkerPhase phase) {
    for (WorkerReport& worker : world.agent_on(node).report.value().workers) worker = {worker.gpu, phase, 2, 1, ""};
    const bool is_preparing = phase == WorkerPhase::kPreparing;
    world.agent_on(node).preparing_since = is_preparing ? std::optional(world.now) : std::nullopt;
  }
  // An agent that has ended refuses connections at once, so many polls fail within a moment.
  void end_agent(const std::string& node) {
    world.agent_on(node).unanswered_polls = 10;
    world.agent_on(node).unanswered_since = world.now;
  }
};

TEST_F(PodAtTheRendezvous, IsNotWaitedForAfterItsNodeIsGoneAndOthersStillWait) {
  world.remove_node("b");
  world.pass(std::chrono::seconds(3));
  world.settle();
  EXPECT_EQ(world.generation(), 3);
}

TEST_F(PodAtTheRendezvous, MayBeGoneBeforeTheOperatorHasSeenThatItHasLeft) {
  world.remove_node("b");
  world.settle();
  EXPECT_EQ(world.generation(), 2);
}

TEST_F(PodAtTheRendezvous, MayGoWhenItHasLeft) {
  set_workers("b", WorkerPhase::kReleased);
  world.settle();
  world.remove_node("b");
  world.settle();
  EXPECT_EQ(world.generation(), 2);
}

TEST_F(PodAtTheRendezvous, MayEndBeforeTheOperatorHasSeenThatItHasLeft) {
  end_agent("b");
  world.settle();
  EXPECT_EQ(world.generation(), 2);
}

TEST_F(PodAtTheRendezvous, IsNotWaitedForAfterItHasEndedAndOthersStillWait) {
  end_agent("b");
  world.pass(std::chrono::seconds(3));
  world.settle();
  EXPECT_EQ(world.generation(), 3);
}

TEST_F(PodAtTheRendezvous, MayEndAfterItsLastReportIfNobodyElseWaits) {
  set_workers("b", WorkerPhase::kPreparing);
  end_agent("b");
  set_workers("a", WorkerPhase::kTraining);
  world.pass(std::chrono::seconds(10));
  world.settle();
  EXPECT_EQ(world.generation(), 2);
}

TEST_F(PodAtTheRendezvous, IsWaitedForWhileItsNodeLives) {
  world.pass(std::chrono::seconds(10));
  world.settle();
  EXPECT_EQ(world.generation(), 2);
}

TEST_F(LeavingPods, LossOfAPodThatHasLeftIsNoDisruption) {
  moves_to_another_zone();
  world.agents_hang = false;
  world.settle();
  world.preempt("b");
  world.settle();
  EXPECT_EQ(world.generation(), 2);
}

}  // namespace
}  // namespace sailor::testing
