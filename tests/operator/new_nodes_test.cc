// Jobs that ask for nodes that do not exist yet, and pools that give none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/model/job_figures.h"
#include "operator/model/names.h"
#include "tests/operator/world.h"

namespace sailor::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr const char* kZoneA = "us-central1-a";
constexpr const char* kZoneB = "us-central1-b";
constexpr const char* kSoldOut =
    "Node scale up in zones us-central1-a associated with this pod failed: out of resources.";

class NewNodes : public ::testing::Test {
 protected:
  void add_pool(const std::string& name, const char* zone, int most_nodes) {
    world.add_pool(name, {{"zone", zone}, {"maxNodes", most_nodes}});
  }
  void add_job(int steps = 1'000'000) {
    world.add_job({{"training", {{"globalBatchSize", 16}, {"sequenceLength", 32}, {"steps", steps}}}});
    world.settle();
  }
  // A job that trains on one node, whose pool may have two more.
  void start_on_one_node(int steps = 1'000'000) {
    add_pool("a", kZoneA, 3);
    world.add_node("old", 2);
    add_job(steps);
    ASSERT_EQ(world.state(), "Running");
  }
  void wait(std::chrono::seconds time) {
    world.pass(time);
    world.settle();
  }
  // Until it may change its plan.
  void cool_down() { wait(std::chrono::seconds(11)); }
  void refuse() {
    world.say_of_new_nodes("FailedScaleUp", kSoldOut);
    world.settle();
  }

  World world;
};

TEST_F(NewNodes, JobThatTrainsAsksForNodesThatDoNotExistYetAndTrainsOn) {
  start_on_one_node();
  cool_down();
  EXPECT_THAT(world.zones_of_awaited_nodes(), ElementsAre(kZoneA, kZoneA));
  EXPECT_EQ(world.state(), "Running");
  EXPECT_EQ(world.status()["reason"], "WaitingForNodes");
  EXPECT_EQ(world.sent.back().generation, 1);
  EXPECT_EQ(world.status()["plan"]["totalGpus"], 2) << "it has no others, and pays for no others";
  EXPECT_THAT(world.condition("PodsReady"),
              StartsWith("False WaitingForNodes: 2 pods wait for new nodes of GpuPool a "
                         "(us-central1-a/nvidia-tesla-t4/spot) since 2026-01-01T00:00:11Z."));
}

TEST_F(NewNodes, JobGrowsFromOneNodeToTheMaximumOfThePool) {
  start_on_one_node();
  cool_down();
  world.make_nodes();
  world.settle();
  EXPECT_THAT(world.nodes_in_use(), ElementsAre("new-1", "new-2", "old"));
  EXPECT_EQ(world.generation(), 2);
  EXPECT_EQ(world.status()["rescales"][0]["stepsLost"], 0);
  cool_down();
  EXPECT_THAT(world.pods_without_node(), IsEmpty());
}

TEST_F(NewNodes, WordsOfTheAutoscalerAreInTheCondition) {
  start_on_one_node();
  cool_down();
  world.say_of_new_nodes("TriggeredScaleUp", "pod triggered scale-up: [{a 1->3 (max: 3)}]");
  world.settle();
  EXPECT_THAT(world.condition("PodsReady"), HasSubstr("The autoscaler says: pod triggered scale-up: [{a 1->3"));
  EXPECT_THAT(world.pods_without_node(), SizeIs(2));
}

TEST_F(NewNodes, PeopleAreToldWhichPoolAJobWaitsForAlthoughItTrains) {
  start_on_one_node();
  cool_down();
  const JobStatus status = job_status_from_json(world.status());
  EXPECT_THAT(main_condition(status)->condition.message, HasSubstr("wait for new nodes of GpuPool a"));
}

TEST_F(NewNodes, JobWhosePoolIsSoldOutTrainsOnAndAsksLaterEachTime) {
  start_on_one_node();
  cool_down();
  refuse();
  EXPECT_THAT(world.pods_without_node(), IsEmpty()) << "no node is made for pods that nobody wants";
  EXPECT_EQ(world.generation(), 1);
  EXPECT_EQ(world.state(), "Running");
  EXPECT_THAT(world.events(), AllOf(Contains("WaitingForNodes"), Contains("ChangeWithdrawn")));
  wait(std::chrono::minutes(4));
  EXPECT_THAT(world.pods_without_node(), IsEmpty());
  wait(std::chrono::minutes(2));
  EXPECT_THAT(world.pods_without_node(), SizeIs(2));
  refuse();
  wait(std::chrono::minutes(9));
  EXPECT_THAT(world.pods_without_node(), IsEmpty());
  wait(std::chrono::minutes(2));
  EXPECT_THAT(world.pods_without_node(), SizeIs(2));
}

TEST_F(NewNodes, NextDecisionIsRequestedForWhenThePoolMayBeAskedAgain) {
  start_on_one_node();
  cool_down();
  EXPECT_LE(world.requeue_after.value(), world.settings.new_node_limit);
  refuse();
  EXPECT_LE(world.requeue_after.value(), kFirstPauseOfPool);
}

TEST_F(NewNodes, JobThatTrainsAsksAnotherPoolIfTheFirstIsSoldOut) {
  start_on_one_node();
  add_pool("b", kZoneB, 1);
  world.change_job([](Json& job) { job["spec"]["resources"] = {{"maxGpus", 4}}; });
  cool_down();
  ASSERT_THAT(world.zones_of_awaited_nodes(), ElementsAre(kZoneA));
  refuse();
  EXPECT_THAT(world.zones_of_awaited_nodes(), ElementsAre(kZoneB));
  EXPECT_EQ(world.state(), "Running");
  world.make_nodes();
  world.settle();
  EXPECT_THAT(world.nodes_in_use(), ElementsAre("new-1", "old"));
  EXPECT_EQ(world.status()["rescales"][0]["stepsLost"], 0);
}

TEST_F(NewNodes, JobStartsInAnotherPoolIfTheFirstIsSoldOut) {
  add_pool("a", kZoneA, 2);
  add_pool("b", kZoneB, 1);
  world.add_job({{"resources", {{"maxGpus", 2}}}});
  world.settle();
  ASSERT_THAT(world.zones_of_awaited_nodes(), ElementsAre(kZoneA));
  EXPECT_THAT(world.condition("PodsReady"), StartsWith("False WaitingForNodes: Pod "));
  refuse();
  EXPECT_THAT(world.zones_of_awaited_nodes(), ElementsAre(kZoneB));
  world.make_nodes();
  world.settle();
  EXPECT_EQ(world.state(), "Running");
}

TEST_F(NewNodes, JobThatNoPoolGivesANodeWaitsAndStartsOnceOneDoes) {
  add_pool("a", kZoneA, 2);
  add_job();
  refuse();
  EXPECT_THAT(world.condition("Planned"), StartsWith("False WaitingForCapacity"));
  EXPECT_THAT(world.pods(), IsEmpty());
  wait(std::chrono::minutes(6));
  EXPECT_THAT(world.zones_of_awaited_nodes(), Not(IsEmpty()));
  world.make_nodes();
  world.settle();
  EXPECT_EQ(world.state(), "Running");
}

TEST_F(NewNodes, PoolThatSaysNothingIsGivenUpAfterTheLimitForNewNodes) {
  start_on_one_node();
  cool_down();
  wait(world.settings.new_node_limit - std::chrono::seconds(1));
  EXPECT_THAT(world.pods_without_node(), SizeIs(2));
  wait(std::chrono::seconds(2));
  EXPECT_THAT(world.pods_without_node(), IsEmpty());
  EXPECT_THAT(world.record().pool_refusals.at(0).message, HasSubstr("no node came within 600 s"));
}

TEST_F(NewNodes, PoolThatCannotGrowNowIsGivenUpAfterAMinute) {
  start_on_one_node();
  cool_down();
  world.say_of_new_nodes("NotTriggerScaleUp", "pod didn't trigger scale-up: 1 max node group size reached");
  wait(std::chrono::seconds(50));
  EXPECT_THAT(world.pods_without_node(), SizeIs(2)) << "the autoscaler may have looked too early";
  wait(std::chrono::seconds(11));
  EXPECT_THAT(world.pods_without_node(), IsEmpty());
}

TEST_F(NewNodes, KarpenterIsUnderstoodToo) {
  start_on_one_node();
  cool_down();
  world.say_of_new_nodes("FailedScheduling", "0/3 nodes are available", "default-scheduler");
  wait(std::chrono::seconds(70));
  EXPECT_THAT(world.pods_without_node(), SizeIs(2)) << "the scheduler always says this before there is a node";
  world.say_of_new_nodes("FailedScheduling", "Failed to schedule pod, all instance types exceed limits", kKarpenter);
  world.settle();
  EXPECT_THAT(world.pods_without_node(), IsEmpty());
  EXPECT_THAT(world.record().pool_refusals.at(0).message, HasSubstr("all instance types exceed limits"));
}

TEST_F(NewNodes, NodeThatKarpenterMakesIsAwaited) {
  start_on_one_node();
  cool_down();
  world.say_of_new_nodes("FailedScheduling", "Failed to schedule pod, no instance type is available", kKarpenter);
  world.pass(std::chrono::seconds(10));
  world.say_of_new_nodes("Nominated", "Pod should schedule on: nodeclaim/l4-x7k2p", kKarpenter);
  wait(std::chrono::minutes(2));
  EXPECT_THAT(world.pods_without_node(), SizeIs(2));
}

TEST_F(NewNodes, JobThatTrainsAsksForFewerNodesOnceTheMaximumIsLowered) {
  start_on_one_node();
  cool_down();
  ASSERT_THAT(world.pods_without_node(), SizeIs(2));
  add_pool("a", kZoneA, 2);
  world.settle();
  EXPECT_THAT(world.pods_without_node(), SizeIs(1));
  EXPECT_EQ(world.generation(), 1);
  EXPECT_THAT(world.record().pool_refusals, IsEmpty()) << "the pool has refused nothing";
  add_pool("a", kZoneA, 1);
  world.settle();
  EXPECT_THAT(world.pods_without_node(), IsEmpty());
  EXPECT_EQ(world.state(), "Running");
}

TEST_F(NewNodes, NodeThatHasJustComeDoesNotCountAgainstTheMaximum) {
  start_on_one_node();
  cool_down();
  world.add_node("new", 2);  // the scheduler has not put a pod there yet
  world.reconcile();
  EXPECT_THAT(world.pods_without_node(), SizeIs(2));
}

TEST_F(NewNodes, JobStartsInAnotherPoolOnceTheFirstIsDeleted) {
  add_pool("a", kZoneA, 2);
  add_pool("b", kZoneB, 1);
  world.add_job({{"resources", {{"maxGpus", 2}}}});
  world.settle();
  ASSERT_THAT(world.zones_of_awaited_nodes(), ElementsAre(kZoneA));
  world.api_server.erase("/apis/sailor.dev/v1alpha1/gpupools", "a");
  world.settle();
  EXPECT_THAT(world.zones_of_awaited_nodes(), ElementsAre(kZoneB));
}

TEST_F(NewNodes, NewerWordsOfTheAutoscalerReplaceOlderOnes) {
  start_on_one_node();
  cool_down();
  world.say_of_new_nodes("NotTriggerScaleUp", "pod didn't trigger scale-up: 1 in backoff after failed scale-up");
  world.pass(std::chrono::seconds(10));
  world.say_of_new_nodes("TriggeredScaleUp", "pod triggered scale-up");
  wait(std::chrono::minutes(2));
  EXPECT_THAT(world.pods_without_node(), SizeIs(2));
}

TEST_F(NewNodes, StartOfAPodIsLimitedFromWhenItsNodeCame) {
  start_on_one_node();
  cool_down();
  wait(world.settings.new_node_limit - std::chrono::seconds(10));
  for (const std::string& node : world.make_nodes()) world.stuck_nodes.insert(node);
  wait(world.settings.start_limit - std::chrono::seconds(10));
  EXPECT_THAT(world.pods(), SizeIs(3));
  wait(std::chrono::seconds(20));
  EXPECT_THAT(world.events(), Contains("ChangeWithdrawn"));
  EXPECT_EQ(world.record().quarantined_nodes.size(), 2) << "the new nodes, which exist, are not tried again at once";
}

TEST_F(NewNodes, JobUsesTheNodesThatCameIfTheOthersAreRefused) {
  start_on_one_node();
  cool_down();
  world.make_nodes(1);
  world.settle();
  EXPECT_EQ(world.record().generation, 2) << "it waits for the other one";
  const std::vector<std::string> pods = world.pods();
  refuse();
  EXPECT_THAT(world.nodes_in_use(), ElementsAre("new-1", "old"));
  EXPECT_EQ(world.generation(), 3);
  EXPECT_THAT(pods, AllOf(Contains(world.pod_on("new-1")), Contains(world.pod_on("old")))) << "no pod starts anew";
  EXPECT_EQ(world.state(), "Running");
}

TEST_F(NewNodes, JobUsesTheNodesThatCameIfNoOtherComesForAMinute) {
  start_on_one_node();
  cool_down();
  world.make_nodes(1);
  wait(std::chrono::seconds(50));
  EXPECT_EQ(world.sent.back().generation, 1);
  wait(std::chrono::seconds(11));
  EXPECT_EQ(world.sent.back().generation, 3);
  EXPECT_THAT(world.nodes_in_use(), ElementsAre("new-1", "old"));
  cool_down();
  EXPECT_THAT(world.zones_of_awaited_nodes(), ElementsAre(kZoneA)) << "it asks for the rest again";
}

TEST_F(NewNodes, JobStartsOnTheNodesThatCameIfNoOtherComesForAMinute) {
  add_pool("a", kZoneA, 3);
  add_job();
  ASSERT_THAT(world.pods_without_node(), SizeIs(3));
  world.make_nodes(2);
  wait(std::chrono::seconds(50));
  EXPECT_THAT(world.sent, IsEmpty()) << "it waits for the third";
  const std::vector<std::string> pods = world.pods();
  wait(std::chrono::seconds(11));
  EXPECT_EQ(world.state(), "Running");
  EXPECT_THAT(world.nodes_in_use(), ElementsAre("new-1", "new-2"));
  EXPECT_THAT(pods, AllOf(Contains(world.pod_on("new-1")), Contains(world.pod_on("new-2")))) << "no pod starts anew";
  cool_down();
  EXPECT_THAT(world.zones_of_awaited_nodes(), ElementsAre(kZoneA)) << "it asks for the third again";
}

TEST_F(NewNodes, JobThatStartsWaitsForAllNodesIfThoseThatCameDoNotSuffice) {
  add_pool("a", kZoneA, 3);
  world.add_job({{"resources", {{"minGpus", 6}}}});
  world.settle();
  world.make_nodes(2);
  wait(std::chrono::minutes(5));
  EXPECT_THAT(world.pods_without_node(), SizeIs(1));
  EXPECT_EQ(world.record().generation, 1);
  world.make_nodes();
  world.settle();
  EXPECT_EQ(world.state(), "Running");
}

TEST_F(NewNodes, JobUsesAnExistingNodeThatBecomesFreeWhileItWaitsForNewOnes) {
  start_on_one_node();
  cool_down();
  ASSERT_THAT(world.pods_without_node(), SizeIs(2));
  world.add_node("other", 2, kZoneB);
  world.settle();
  EXPECT_THAT(world.nodes_in_use(), ElementsAre("old", "other"));
  EXPECT_EQ(world.state(), "Running");
  cool_down();
  EXPECT_THAT(world.pods_without_node(), SizeIs(2)) << "it asks for the others again";
}

TEST_F(NewNodes, RequestForNewNodesIsGivenUpForAJobThatWaits) {
  start_on_one_node();
  cool_down();
  ASSERT_THAT(world.pods_without_node(), SizeIs(2));
  world.job = {"default", "second"};
  world.add_job({{"resources", {{"minGpus", 4}, {"maxGpus", 4}}}});
  world.settle_all_jobs();
  EXPECT_THAT(world.pods_without_node(), SizeIs(2));
  world.make_nodes();
  world.settle_all_jobs();
  EXPECT_EQ(world.state(), "Running");
  EXPECT_THAT(world.nodes_of("second"), ElementsAre("new-1", "new-2"));
}

TEST_F(NewNodes, ClockThatIsAheadOfTheApiServersDoesNotEndAWait) {
  start_on_one_node();
  cool_down();
  for (Json pod : world.pods_without_node()) {
    pod["metadata"]["creationTimestamp"] = to_rfc3339(world.now - std::chrono::hours(1));
    world.api_server.put("/api/v1/namespaces/default/pods", pod);
  }
  world.settle();
  EXPECT_THAT(world.pods_without_node(), SizeIs(2));
}

TEST_F(NewNodes, JobThatLosesANodeWhileItWaitsForNewOnesContinuesAtOnce) {
  start_on_one_node();
  world.add_node("other", 2, kZoneB);
  cool_down();
  ASSERT_THAT(world.nodes_in_use(), ElementsAre("old", "other"));
  cool_down();
  ASSERT_THAT(world.pods_without_node(), SizeIs(2));
  world.remove_node("other");
  world.break_peers();
  world.settle();
  EXPECT_THAT(world.nodes_in_use(), Contains("old"));
  EXPECT_EQ(world.state(), "Running");
}

TEST_F(NewNodes, ChangedSpecIsFollowedWhileTheJobWaitsForNewNodes) {
  start_on_one_node();
  cool_down();
  world.change_job([](Json& job) { job["spec"]["resources"] = {{"maxGpus", 2}}; });
  cool_down();
  EXPECT_THAT(world.pods_without_node(), IsEmpty());
  EXPECT_EQ(world.state(), "Running");
}

TEST_F(NewNodes, JobThatEndsSoonAsksForNoNodes) {
  start_on_one_node(/*steps=*/100);
  cool_down();
  EXPECT_THAT(world.pods_without_node(), IsEmpty());
}

TEST_F(NewNodes, JobWithoutLiveElasticityAsksForNoNodesWhileItTrains) {
  add_pool("a", kZoneA, 3);
  world.add_node("old", 2);
  world.add_job({{"elasticity", {{"mode", "Restart"}}},
                 {"training", {{"globalBatchSize", 16}, {"sequenceLength", 32}, {"steps", 1'000'000}}}});
  world.settle();
  cool_down();
  EXPECT_EQ(world.generation(), 1);
  EXPECT_THAT(world.nodes_in_use(), ElementsAre("old"));
}

TEST_F(NewNodes, NodesToBeMadeAreLeftToAJobThatWaits) {
  start_on_one_node();
  const JobKey first = world.job;
  world.job = {"default", "waiting"};
  world.add_job({{"resources", {{"minGpus", 100}}}});
  world.settle();
  ASSERT_THAT(world.condition("Planned"), StartsWith("False WaitingForCapacity"));
  world.job = first;
  cool_down();
  EXPECT_THAT(world.pods_without_node(), IsEmpty());
}

TEST_F(NewNodes, JobGivesNewNodesToAJobOfHigherPriority) {
  world.add_priority_class("high", 1000);
  start_on_one_node();
  cool_down();
  world.make_nodes();
  world.settle();
  ASSERT_THAT(world.nodes_in_use(), ElementsAre("new-1", "new-2", "old"));
  const JobKey first = world.job;
  world.job = {"default", "important"};
  world.add_job({{"priorityClassName", "high"}, {"resources", {{"minGpus", 4}, {"maxGpus", 4}}}});
  world.settle_all_jobs();
  EXPECT_EQ(world.state(), "Running");
  EXPECT_THAT(world.nodes_of("important"), SizeIs(2));
  world.job = first;
  EXPECT_EQ(world.state(), "Running");
  EXPECT_THAT(world.nodes_of("job"), SizeIs(1));
}

TEST_F(NewNodes, PoolThatRefusedOneJobIsNotAskedByAnother) {
  start_on_one_node();
  cool_down();
  refuse();
  world.job = {"default", "second"};
  world.add_job();
  world.settle();
  EXPECT_THAT(world.condition("Planned"), StartsWith("False WaitingForCapacity"));
  EXPECT_THAT(world.pods_without_node(), IsEmpty());
}

TEST_F(NewNodes, RefusalOutlivesTheOperator) {
  start_on_one_node();
  cool_down();
  refuse();
  world.restart_operator();
  cool_down();
  EXPECT_THAT(world.pods_without_node(), IsEmpty());
}

TEST_F(NewNodes, JobGrowsWhereverTheOperatorDies) {
  for (int write = 0; write < 12; ++write) {
    for (const bool after_commit : {false, true}) {
      World one;
      one.add_pool("a", {{"maxNodes", 3}});
      one.add_node("old", 2);
      one.add_job({{"training", {{"globalBatchSize", 16}, {"sequenceLength", 32}, {"steps", 1'000'000}}}});
      one.settle();
      one.pass(std::chrono::seconds(11));
      one.settle_through_crash(write, after_commit);
      one.make_nodes(1);
      one.say_of_new_nodes("FailedScaleUp", kSoldOut);
      one.settle_through_crash(write, after_commit);
      EXPECT_THAT(one.nodes_in_use(), ElementsAre("new-1", "old")) << "write " << write << ", " << after_commit;
      EXPECT_EQ(one.state(), "Running");
    }
  }
}

// The scheduler might evict a pod of lower priority from an existing node, or use one that the operator avoids.
TEST_F(NewNodes, PodsOfNewNodesKeepOffTheExistingOnes) {
  start_on_one_node();
  cool_down();
  ASSERT_THAT(world.pods_without_node(), SizeIs(2));
  for (const Json& pod : world.pods_without_node()) {
    const Json::json_pointer terms(
        "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms");
    EXPECT_THAT(pod.at(terms).at(0).at("matchExpressions"),
                Contains(Json{{"key", "kubernetes.io/hostname"}, {"operator", "NotIn"}, {"values", {"old"}}}));
  }
}

TEST_F(NewNodes, PodsOfNewNodesAskForTheirPoolAndNoOther) {
  start_on_one_node();
  cool_down();
  for (const Json& pod : world.pods_without_node()) {
    const Json& selector = pod["spec"]["nodeSelector"];
    EXPECT_EQ(selector[kZoneLabel], kZoneA);
    EXPECT_EQ(selector["cloud.google.com/gke-spot"], "true");
    EXPECT_EQ(selector["cloud.google.com/gke-accelerator"], "nvidia-tesla-t4");
  }
}

}  // namespace
}  // namespace sailor::testing
