// The order in which jobs that compete for GPUs get them, and to whom they leave them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/operator/competing_jobs.h"

namespace sailor::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

TEST_F(CompetingJobs, JobThatTrainsLeavesNewNodesToOneThatWaits) {
  add_nodes({"a", "b"});
  run("first", "");
  add_job("second", "", 4);
  settle_later();
  EXPECT_THAT(planned("second"), StartsWith("False WaitingForCapacity"));
  add_nodes({"c"});
  settle_later();
  EXPECT_THAT(world.nodes_of("first"), ElementsAre("a", "b")) << "it would grow past a job that waits";
  add_nodes({"d"});
  settle_later();
  EXPECT_THAT(world.nodes_of("second"), ElementsAre("c", "d"));
  add_nodes({"e"});
  settle_later();
  EXPECT_THAT(world.nodes_of("first"), ElementsAre("a", "b", "e")) << "nobody waits any more";
}

TEST_F(CompetingJobs, JobThatTrainsGrowsOnceTheJobThatWaitedIsGone) {
  add_nodes({"a", "b"});
  run("first", "");
  add_job("second", "", 4);
  add_nodes({"c"});
  settle_later();
  world.api_server.erase("/apis/sailor.dev/v1alpha1/namespaces/default/trainingjobs", "second");
  settle_later();
  EXPECT_THAT(world.nodes_of("first"), ElementsAre("a", "b", "c"));
}

TEST_F(CompetingJobs, JobThatWaitsForOtherNodesKeepsNobodyFromGrowing) {
  add_nodes({"a"});
  run("first", "");
  select("elsewhere");
  world.add_job({{"resources", {{"zones", {"us-central1-b"}}}}});
  add_nodes({"b"});
  settle_later();
  EXPECT_THAT(world.nodes_of("first"), ElementsAre("a", "b"));
}

TEST_F(CompetingJobs, JobThatTrainsGrowsPastAJobOfLowerPriority) {
  add_nodes({"a"});
  run("first", "high");
  add_job("second", "low", 4);
  add_nodes({"b"});
  settle_later();
  EXPECT_THAT(world.nodes_of("first"), ElementsAre("a", "b"));
}

// It has no checkpoint folder, so its pods keep its state.
TEST_F(CompetingJobs, JobThatWaitsWithItsPodsLeavesThemToOneOfHigherPriority) {
  add_nodes({"a", "b"});
  run("first", "low", 4);
  world.remove_node("b");
  world.settle_all_jobs();
  ASSERT_THAT(planned("first"), StartsWith("False WaitingForCapacity"));
  ASSERT_THAT(world.nodes_of("first"), ::testing::Contains("a"));
  add_job("second", "high");
  settle_later();
  EXPECT_EQ(state_of("second"), "Running") << world.status().dump(1);
  EXPECT_THAT(world.nodes_of("second"), ElementsAre("a"));
}

TEST_F(CompetingJobs, OlderJobStartsFirst) {
  add_job("b-older", "", 2, 2);
  add_job("a-younger", "", 2, 2);
  world.settle_all_jobs();
  add_nodes({"a"});
  world.settle_all_jobs();
  EXPECT_EQ(state_of("b-older"), "Running");
  EXPECT_THAT(world.nodes_of("a-younger"), IsEmpty());
}

TEST_F(CompetingJobs, YoungerJobWaitsForItsTurnEvenIfThePlannerAnswersItFirst) {
  add_job("older", "", 2, 2);
  add_job("younger", "", 2, 2);
  world.settle_all_jobs();
  add_nodes({"a"});
  world.settle();  // only the younger one
  EXPECT_THAT(planned("younger"), StartsWith("False WaitingForCapacity: Job default/older (priority 0) comes first"));
  world.pass(std::chrono::seconds(11));
  world.settle();
  EXPECT_EQ(state_of("younger"), "Running") << "it does not wait for ever for a job that nobody decides about";
}

TEST_F(CompetingJobs, NobodyWaitsForATurnIfThereIsRoomForAll) {
  add_nodes({"a", "b"});
  add_job("older", "", 2, 2);
  add_job("younger", "", 2, 2);
  world.settle();  // only the younger one
  EXPECT_EQ(state_of("younger"), "Running");
}

TEST_F(CompetingJobs, JobOfHigherPriorityStartsFirst) {
  add_job("a-first", "low", 2, 2);
  add_job("b-second", "high", 2, 2);
  world.settle_all_jobs();
  add_nodes({"a"});
  world.settle_all_jobs();
  EXPECT_EQ(state_of("b-second"), "Running");
  EXPECT_THAT(world.nodes_of("a-first"), IsEmpty());
}

TEST_F(CompetingJobs, SmallJobStartsPastAnOlderOneForWhichThereIsNoRoom) {
  add_job("large", "", 8);
  add_job("small", "", 1);
  add_nodes({"a"});
  world.settle_all_jobs();
  EXPECT_EQ(state_of("small"), "Running");
}

TEST_F(CompetingJobs, JobThatWaitsSaysWhoHasTheGpus) {
  add_nodes({"a", "b"});
  run("first", "low");
  add_job("second", "low", 4);
  world.settle_all_jobs();
  EXPECT_THAT(planned("second"), HasSubstr("in use: 4 by job default/first (priority 10)"));
}

TEST_F(CompetingJobs, JobThatNoFreeGpusWouldHelpKeepsNobodyFromGrowing) {
  add_nodes({"a"});
  run("first", "");
  world.infeasible_jobs = {"impossible"};
  add_job("impossible", "");
  add_nodes({"b"});
  settle_later();
  EXPECT_THAT(world.nodes_of("first"), ElementsAre("a", "b"));
}

TEST_F(CompetingJobs, DefaultClassOfTheClusterCounts) {
  world.add_priority_class("default", 500, {{"globalDefault", true}});
  add_nodes({"a"});
  run("low", "low", 2);
  add_job("usual", "", 2);
  settle_later();
  EXPECT_EQ(state_of("usual"), "Running");
}

TEST_F(CompetingJobs, PodsHaveTheClassOfTheSpecAndElseOfTheTemplate) {
  add_nodes({"a", "b"});
  run("own", "high", 2, 2);
  select("of-template");
  world.add_job({{"podTemplate", {{"spec", {{"priorityClassName", "low"}}}}}});
  world.settle_all_jobs();
  for (const Json& pod : world.api_server.all("pods")) {
    const bool is_own = kube::name_of(pod).starts_with("own-");
    EXPECT_EQ(kube::text_at(pod, {"spec", "priorityClassName"}), is_own ? "high" : "low") << kube::name_of(pod);
  }
}

}  // namespace
}  // namespace sailor::testing
