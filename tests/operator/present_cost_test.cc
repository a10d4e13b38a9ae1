// What a job costs per hour at present: the operator, its metrics and kubectl say the same.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/model/observation_queries.h"
#include "tests/operator/world.h"

namespace sailor::testing {
namespace {

using std::chrono::seconds;

// A job trains on four GPUs for half a dollar per hour.
class PresentCost : public ::testing::Test {
 protected:
  PresentCost() {
    world.add_pool("t4");
    world.add_node("a", 2);
    world.add_node("b", 2);
    world.add_job();
    world.settle();
    world.pass(seconds(60));
    world.settle();
  }
  [[nodiscard]] std::string rate() const { return kube::text_at(world.status(), {"progress", "dollarsPerHour"}); }
  [[nodiscard]] std::int64_t gpus() const { return kube::integer_at(world.status(), {"gpus"}); }

  World world;
};

TEST_F(PresentCost, FollowsThePriceOfThePool) {
  ASSERT_EQ(rate(), "0.5000");
  world.add_pool("t4", {{"pricePerGpuHour", "0.25"}});
  world.pass(seconds(60));
  world.settle();
  EXPECT_EQ(rate(), "1.0000");
  EXPECT_EQ(world.generation(), 1) << "the plan stays, with the figures that it was made with";
}

TEST_F(PresentCost, FollowsNodesWhoseLabelsPutThemIntoAnotherPool) {
  world.add_pool("other", {{"zone", "us-central1-b"}, {"pricePerGpuHour", "0.25"}});
  for (const char* name : {"a", "b"}) {
    Json node = world.api_server.find("nodes", name);
    node["metadata"]["labels"]["topology.kubernetes.io/zone"] = "us-central1-b";
    world.api_server.put("/api/v1/nodes", node);
  }
  world.pass(seconds(60));
  world.settle();
  EXPECT_EQ(rate(), "1.0000");
  EXPECT_EQ(world.nodes_in_use().size(), 2U);
}

TEST_F(PresentCost, OfASuspendedJobIsNothing) {
  world.change_job([](Json& job) { job["spec"]["suspend"] = true; });
  world.settle();
  ASSERT_EQ(world.state(), "Suspended");
  EXPECT_EQ(rate(), "");
  EXPECT_EQ(gpus(), 0);
}

TEST_F(PresentCost, OfACompleteJobIsNothingAndItHoldsNoGpus) {
  ASSERT_EQ(gpus(), 4);
  world.finish_pods();
  world.settle();
  ASSERT_EQ(world.state(), "Complete");
  EXPECT_EQ(rate(), "");
  EXPECT_EQ(gpus(), 0);
  EXPECT_EQ(world.generation(), 1) << "its last plan can still be read";
}

TEST_F(PresentCost, OfAFailedJobIsNothingAlthoughItsLastPodsStillRun) {
  world.change_job([](Json& job) { job["spec"]["activeDeadlineSeconds"] = 30; });
  world.reconcile();
  ASSERT_EQ(world.state(), "Failed");
  EXPECT_EQ(rate(), "");
  EXPECT_EQ(gpus(), 0);
}

TEST(DollarsPerHour, OfAPodWhosePoolIsDeletedAreThoseOfThePlan) {
  const PoolKey pool{Zone("us-central1-a"), Accelerator("nvidia-tesla-t4"), Provisioning::kSpot};
  Observation observation;
  GenerationRecord record;
  record.plan.stages = {{0, 4, {{pool, 2, 1}, {pool, 2, 1}}}};
  record.summary.iteration_seconds = 2;
  record.summary.gpu_cost_per_iteration = 4 * 0.9 / 3600 * 2;
  observation.record = record;
  observation.pods = {{.name = "pod", .phase = PodPhase::kRunning, .gpus = 2, .pool = pool}};
  EXPECT_DOUBLE_EQ(dollars_per_hour(observation), 1.8) << "the GPUs cost money although nobody says how much";
  EXPECT_EQ(saved_dollars_per_hour(observation), 0);
  ClusterView cluster;
  cluster.pools[pool].price_per_gpu = DollarsPerHour(0.5);
  observation.cluster = std::make_shared<const ClusterView>(cluster);
  EXPECT_DOUBLE_EQ(dollars_per_hour(observation), 1);
}

TEST(DollarsPerHour, IncludeTheTrafficOfTheStepsAtTheirMeasuredSpeed) {
  Observation observation;
  GenerationRecord record;
  record.generation = 1;
  record.summary.traffic_cost_per_iteration = 0.001;
  record.members = {{.address = {.name = "pod"}, .pod_uid = "uid", .node = "a", .node_uid = "a"}};
  observation.record = record;
  AgentReport& report = observation.agents["uid"].report.emplace();
  report.workers = {{0, WorkerPhase::kTraining, 1, 0, ""}};
  report.progress = JobProgress{.generation = 1, .step = 5, .step_seconds = 2};
  EXPECT_DOUBLE_EQ(dollars_per_hour(observation), 1.8);
  report.workers[0].phase = WorkerPhase::kPreparing;
  EXPECT_EQ(dollars_per_hour(observation), 0) << "no step is done";
}

}  // namespace
}  // namespace sailor::testing
