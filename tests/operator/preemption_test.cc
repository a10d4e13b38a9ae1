// Jobs that take GPUs from jobs of lower priority, and how these give them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/model/names.h"
#include "operator/reconcile/decide/competition.h"
#include "tests/operator/competing_jobs.h"

namespace sailor::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

TEST_F(CompetingJobs, LowerJobShrinksToItsMinimumWithoutAStop) {
  add_nodes({"a", "b", "c"});
  run("low", "low", 2);
  add_job("high", "high", 4, 4);
  settle_later();
  EXPECT_EQ(state_of("high"), "Running");
  EXPECT_THAT(world.nodes_of("high"), ElementsAre("b", "c"));
  EXPECT_EQ(state_of("low"), "Running");
  EXPECT_THAT(world.nodes_of("low"), ElementsAre("a"));
  EXPECT_EQ(world.record().reason, Reason::kPreempted);
  EXPECT_THAT(world.record().message, HasSubstr("default/high of priority 1000"));
  EXPECT_THAT(world.events(), Contains("Preempted"));
}

// Found by random lives: the job gave its move up again and again, because its present GPUs were still claimed.
TEST_F(CompetingJobs, LowerJobWhoseOnlyNodeIsTakenMovesOnce) {
  add_nodes({"a"});
  run("low", "low", 1, 2);
  add_nodes({"b"});
  add_job("high", "high", 3, 3);
  settle_later();
  EXPECT_EQ(state_of("high"), "Running") << world.condition("PodsReady");
  EXPECT_THAT(world.nodes_of("high"), ElementsAre("a", "b"));
  EXPECT_EQ(state_of("low"), "Running");
  EXPECT_THAT(world.nodes_of("low"), ElementsAre("b"));
  EXPECT_EQ(world.generation(), 2);
}

TEST_F(CompetingJobs, AsFewPodsAsPossibleAreTaken) {
  world.add_node("b", 2, "us-central1-b");
  world.add_node("c", 2, "us-central1-b");
  world.add_node("z", 1, "us-central1-a");  // the planner of this world takes its GPU first
  run("low", "low", 2);
  add_job("high", "high", 2, 2);
  settle_later();
  EXPECT_THAT(world.nodes_of("high"), ElementsAre("c"));
  EXPECT_THAT(world.nodes_of("low"), ElementsAre("b", "z"));
}

TEST(FewestNodes, SmallestThatIsEnoughIsTaken) {
  const GpusByNode gpus = {{"a", 8}, {"b", 2}, {"c", 1}, {"d", 4}};
  EXPECT_EQ(fewest_nodes(gpus, 2), (GpusByNode{{"b", 2}}));
  EXPECT_EQ(fewest_nodes(gpus, 3), (GpusByNode{{"d", 4}}));
  EXPECT_EQ(fewest_nodes(gpus, 9), (GpusByNode{{"a", 8}, {"c", 1}}));
  EXPECT_EQ(fewest_nodes(gpus, 100), gpus);
  EXPECT_EQ(fewest_nodes(gpus, 0), GpusByNode{});
}

TEST_F(CompetingJobs, PodsOfTheHigherJobAreCreatedOnceTheGpusAreFree) {
  add_nodes({"a", "b"});
  run("low", "low", 2);
  add_job("high", "high", 2, 2);
  for (int i = 0; i < 4; ++i) {
    world.reconcile();  // only the higher job
    world.live();
  }
  EXPECT_THAT(world.nodes_of("high"), IsEmpty());
  EXPECT_THAT(world.condition("PodsReady"), HasSubstr("waits until job default/low (priority 10) has released"));
  EXPECT_THAT(world.nodes_of("low"), ElementsAre("a", "b")) << "it trains until it has heard of the claim";
  world.settle_all_jobs();
  EXPECT_THAT(world.nodes_of("high"), ElementsAre("b"));
  EXPECT_THAT(world.nodes_of("low"), ElementsAre("a"));
}

TEST_F(CompetingJobs, LowerJobIsSuspendedIfTheHigherOneCannotStartOtherwise) {
  add_nodes({"a", "b"});
  run("low", "low", 2);
  add_job("high", "high", 4, 4);
  settle_later();
  EXPECT_EQ(state_of("high"), "Running");
  EXPECT_THAT(world.nodes_of("high"), ElementsAre("a", "b"));
  EXPECT_THAT(planned("low"), StartsWith("False WaitingForCapacity"));
  EXPECT_THAT(planned("low"), HasSubstr("by job default/high (priority 1000)"));
  add_nodes({"c"});
  settle_later();
  EXPECT_EQ(state_of("low"), "Running") << "it goes on once there are GPUs";
  EXPECT_THAT(world.nodes_of("low"), ElementsAre("c"));
}

TEST_F(CompetingJobs, LowestOfSeveralJobsIsSuspended) {
  world.add_priority_class("middle", 100);
  add_nodes({"a", "b"});
  run("middle", "middle", 2, 2);
  run("low", "low", 2, 2);
  add_job("high", "high", 2, 2);
  settle_later();
  EXPECT_EQ(state_of("high"), "Running");
  EXPECT_EQ(state_of("middle"), "Running");
  EXPECT_THAT(planned("low"), StartsWith("False WaitingForCapacity"));
}

TEST_F(CompetingJobs, AsManyOfTheLowestJobsAreSuspendedAsTheMinimumNeeds) {
  world.add_priority_class("middle", 100);
  add_nodes({"a", "b", "c"});
  run("middle", "middle", 2, 2);
  run("low-1", "low", 2, 2);
  run("low-2", "low", 2, 2);
  add_job("high", "high", 4, 4);
  settle_later();
  EXPECT_EQ(state_of("high"), "Running");
  EXPECT_EQ(state_of("middle"), "Running");
  for (const char* job : {"low-1", "low-2"}) {
    EXPECT_THAT(planned(job), StartsWith("False WaitingForCapacity")) << job;
    EXPECT_THAT(world.nodes_of(job), IsEmpty());
  }
}

TEST_F(CompetingJobs, NobodyIsDisturbedIfThereAreEnoughFreeGpus) {
  add_nodes({"a"});
  run("low", "low");
  add_nodes({"b"});
  add_job("high", "high", 2, 2);
  world.settle_all_jobs();
  EXPECT_EQ(state_of("high"), "Running");
  EXPECT_EQ(state_of("low"), "Running");
  EXPECT_THAT(world.nodes_of("low"), ElementsAre("a"));
}

TEST_F(CompetingJobs, JobOfTheSamePriorityTakesNothing) {
  add_nodes({"a", "b"});
  run("first", "high", 2);
  add_job("second", "high", 2);
  settle_later();
  EXPECT_THAT(planned("second"), StartsWith("False WaitingForCapacity"));
  EXPECT_THAT(world.nodes_of("first"), ElementsAre("a", "b"));
}

TEST_F(CompetingJobs, PreemptionPolicyNeverTakesNothing) {
  world.add_priority_class("patient", 1000, {{"preemptionPolicy", "Never"}});
  add_nodes({"a", "b"});
  run("low", "low", 2);
  add_job("patient", "patient", 2);
  settle_later();
  EXPECT_THAT(planned("patient"), StartsWith("False WaitingForCapacity"));
  EXPECT_THAT(world.nodes_of("low"), ElementsAre("a", "b"));
}

TEST_F(CompetingJobs, JobThatMayNotShrinkIsSuspendedOnlyIfNeeded) {
  add_nodes({"a", "b"});
  select("fixed");
  world.add_job({{"resources", {{"minGpus", 1}}}, {"elasticity", {{"mode", "Off"}}}, {"priorityClassName", "low"}});
  world.settle_all_jobs();
  ASSERT_EQ(state_of("fixed"), "Running");
  add_nodes({"c"});
  add_job("high", "high", 2);
  settle_later();
  EXPECT_THAT(world.nodes_of("fixed"), ElementsAre("a", "b"));
  EXPECT_THAT(world.nodes_of("high"), ElementsAre("c"));
  add_job("higher", "high", 4);
  settle_later();
  EXPECT_EQ(state_of("higher"), "Running");
  EXPECT_THAT(world.nodes_of("fixed"), IsEmpty());
}

TEST_F(CompetingJobs, JobThatHasNotStartedYetGivesItsNodesUp) {
  add_nodes({"a", "b"});
  world.stuck_nodes = {"b"};
  add_job("low", "low", 4);
  world.settle_all_jobs();
  EXPECT_NE(state_of("low"), "Running");
  add_job("high", "high", 4);
  world.stuck_nodes.clear();
  world.settle_all_jobs();
  EXPECT_EQ(state_of("high"), "Running");
  EXPECT_THAT(world.nodes_of("low"), IsEmpty());
}

TEST_F(CompetingJobs, ChangeThatIsBeingPreparedIsWithdrawn) {
  add_nodes({"a", "b"});
  run("low", "low", 2);
  world.stuck_nodes = {"c"};
  add_nodes({"c"});
  world.pass(std::chrono::seconds(15));
  world.settle_all_jobs();
  add_job("high", "high", 4, 4);
  world.stuck_nodes.clear();
  settle_later();
  EXPECT_EQ(state_of("high"), "Running");
  EXPECT_EQ(state_of("low"), "Running");
  EXPECT_THAT(world.nodes_of("low"), ElementsAre("a"));
}

TEST_F(CompetingJobs, ClaimThatIsGivenUpLeavesTheGpusWhereTheyAre) {
  add_nodes({"a", "b"});
  run("low", "low", 2);
  add_job("high", "high", 2, 2);
  for (int i = 0; i < 4; ++i) world.reconcile();
  ASSERT_THAT(world.record().placement.slots, Not(IsEmpty()));
  world.change_job([](Json& job) { job["spec"]["suspend"] = true; });
  world.settle_all_jobs();
  EXPECT_THAT(world.nodes_of("low"), ElementsAre("a", "b"));
  EXPECT_EQ(state_of("low"), "Running");
}

// Two jobs whose operator dies once: before its write number `write` takes effect, or after it.
class JobsOfAnOperatorThatDies : public CompetingJobs {
 public:
  JobsOfAnOperatorThatDies(const std::vector<std::string>& nodes, int write, bool after_commit) {
    add_nodes(nodes);
    run("low", "low", 2);
    add_job("high", "high", 4, 4);
    world.api_server.crash_at_write = write;
    world.api_server.crash_after_commit = after_commit;
    for (int i = 0; i < 20; ++i) {
      for (const char* name : {"low", "high"}) reconcile(name);
      world.live();
    }
  }
  [[nodiscard]] std::vector<std::string> nodes_of(const std::string& name) const { return world.nodes_of(name); }
  [[nodiscard]] bool trains(const std::string& name) { return state_of(name) == "Running"; }

 private:
  void TestBody() override {}
  void reconcile(const std::string& name) {
    select(name);
    try {
      world.reconcile();
    } catch (const Crash&) {
      world.restart_operator();
    }
    std::map<std::string, int> used;
    for (const Json& pod : world.api_server.all("pods")) {
      used[kube::annotation_of(pod, kNodeAnnotation)] += gpus_of_pod(pod);
    }
    for (const auto& [node, gpus] : used) EXPECT_LE(gpus, 2) << "there is no room on node " << node;
  }
};

constexpr int kWritesOfAChange = 20;  // more than there are

TEST(CompetingJobsOfAnOperatorThatDies, GpusChangeHandsAllTheSame) {
  for (int write = 0; write < 2 * kWritesOfAChange; ++write) {
    SCOPED_TRACE(write);
    JobsOfAnOperatorThatDies jobs({"a", "b", "c"}, write / 2, write % 2 == 1);
    EXPECT_TRUE(jobs.trains("high"));
    EXPECT_THAT(jobs.nodes_of("high"), ElementsAre("b", "c"));
    EXPECT_TRUE(jobs.trains("low"));
    EXPECT_THAT(jobs.nodes_of("low"), ElementsAre("a"));
  }
}

TEST(CompetingJobsOfAnOperatorThatDies, JobIsSuspendedAllTheSame) {
  for (int write = 0; write < 2 * kWritesOfAChange; ++write) {
    SCOPED_TRACE(write);
    JobsOfAnOperatorThatDies jobs({"a", "b"}, write / 2, write % 2 == 1);
    EXPECT_TRUE(jobs.trains("high"));
    EXPECT_THAT(jobs.nodes_of("high"), ElementsAre("a", "b"));
    EXPECT_THAT(jobs.nodes_of("low"), IsEmpty());
  }
}

}  // namespace
}  // namespace sailor::testing
