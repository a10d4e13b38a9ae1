// The nodes that a job may plan with: those to be made, and plans that were overtaken by a change of the cluster.
#include <memory>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/model/cluster_view.h"
#include "operator/reconcile/decide/plan_lookup.h"
#include "operator/reconcile/decide/usable_nodes.h"

namespace sailor {
namespace {

using ::testing::SizeIs;

const PoolKey kCapacityPool{Zone("us-central1-a"), Accelerator("nvidia-l4"), Provisioning::kSpot};

class Capacity : public ::testing::Test {
 protected:
  Capacity() {
    observation_.cluster = cluster_;
    observation_.now = Time(std::chrono::hours(1));
    observation_.job.uid = "mine";
    PoolDeclaration& pool = cluster_->pools[kCapacityPool];
    pool.key = kCapacityPool;
    pool.gpus_per_node = 2;
  }
  void add_node(const std::string& name) {
    NodeView node;
    node.name = name;
    node.uid = "uid-" + name;
    node.pool = kCapacityPool;
    node.gpus = 2;
    node.is_ready = true;
    cluster_->nodes.push_back(node);
  }
  [[nodiscard]] std::vector<UsableNode> nodes(NodeScope scope) const {
    return usable_nodes(observation_, {scope, {}, false});
  }
  [[nodiscard]] PlanLookup look_up() const {
    return look_up_plan(observation_, nodes(NodeScope::kExisting), std::nullopt);
  }
  // The planner answers the present question with a plan for the first two GPUs.
  void answer(bool is_overtaken) {
    PlannedJob planned;
    planned.plan = Plan{"tiny-gpt2", 8, 1, {{0, 6, {{kCapacityPool, 1, 4}, {kCapacityPool, 1, 4}}}}};
    observation_.answers.push_back({look_up().question.value(), planned, observation_.now, is_overtaken});
  }

  std::shared_ptr<ClusterView> cluster_ = std::make_shared<ClusterView>();
  Observation observation_;
};

TEST_F(Capacity, NodesToBeMadeAreClaimedOnce) {
  cluster_->pools[kCapacityPool].max_nodes = 5;
  add_node("a");
  EXPECT_THAT(nodes(NodeScope::kGrowable), SizeIs(5));
  cluster_->claimed_growth[kCapacityPool] = {{"mine", 1}, {"other", 3}};
  EXPECT_THAT(nodes(NodeScope::kGrowable), SizeIs(2)) << "one exists, and three are for another job";
  cluster_->claimed_growth[kCapacityPool] = {{"other", 30}};
  EXPECT_THAT(nodes(NodeScope::kGrowable), SizeIs(1));
}

TEST_F(Capacity, PoolOfAMillionNodesMakesNoMillionCandidates) {
  cluster_->pools[kCapacityPool].max_nodes = 1'000'000;
  EXPECT_LE(nodes(NodeScope::kGrowable).size(), 2048U);
  observation_.job.spec->resources.max_gpus = 8;
  EXPECT_THAT(nodes(NodeScope::kGrowable), SizeIs(4));
}

TEST_F(Capacity, OvertakenPlanIsUsedIfItStillFits) {
  add_node("a");
  answer(/*is_overtaken=*/true);
  add_node("b");
  EXPECT_TRUE(look_up().has_plan());
  cluster_->nodes.clear();
  EXPECT_FALSE(look_up().has_plan());
  EXPECT_TRUE(look_up().question.has_value());
}

TEST_F(Capacity, PlanOfAnEarlierClusterIsNotUsed) {
  add_node("a");
  answer(/*is_overtaken=*/false);
  EXPECT_TRUE(look_up().has_plan());
  add_node("b");
  EXPECT_FALSE(look_up().has_plan()) << "the planner may find a better one";
}

TEST_F(Capacity, NewPlanOfAJobThatStartsIsUsedIfItStillFits) {
  add_node("a");
  answer(/*is_overtaken=*/false);
  observation_.answers.back().is_new = true;
  add_node("b");
  EXPECT_TRUE(look_up().has_plan()) << "another job that starts has changed the cluster";
  observation_.answers.back().question.current = observation_.answers.back().result->plan;
  EXPECT_FALSE(
      look_up_plan(observation_, nodes(NodeScope::kExisting), observation_.answers.back().question.current).has_plan())
      << "a job that trains can wait for a better plan";
}

TEST_F(Capacity, PlanThatIsKeptIsKeptIfOthersTakeFreeGpus) {
  for (const char* name : {"a", "b", "c"}) add_node(name);
  answer(/*is_overtaken=*/false);
  PlanAnswer& known = observation_.answers.back();
  const Plan current = known.result->plan;
  known.question.current = current;
  known.result->keeps_current = true;
  const auto has_answer = [&] {
    return look_up_plan(observation_, nodes(NodeScope::kExisting), current).answer != nullptr;
  };
  cluster_->nodes.erase("c");
  EXPECT_TRUE(has_answer()) << "with fewer GPUs, no plan becomes better";
  known.result->keeps_current = false;
  EXPECT_FALSE(has_answer()) << "the better plan may have needed that node";
  known.result->keeps_current = true;
  for (const char* name : {"c", "d"}) add_node(name);
  EXPECT_FALSE(has_answer()) << "a node is new";
}

TEST_F(Capacity, JobWithoutPlanHasNoneWhateverHappensToGpusThatItMayNotUse) {
  add_node("a");
  const auto answer_no = [&] {
    const Error error{ErrorCode::kInfeasible, "too few GPUs"};
    observation_.answers = {{look_up().question.value(), tl::unexpected(error), observation_.now}};
  };
  answer_no();
  add_node("b");
  EXPECT_TRUE(look_up().question.has_value()) << "a node is new";
  observation_.job.spec->resources.accelerators = {Accelerator("nvidia-tesla-t4")};
  answer_no();
  add_node("c");
  EXPECT_TRUE(look_up().has_no_plan());
}

TEST_F(Capacity, OvertakenPlanDoesNotKeepForLong) {
  add_node("a");
  answer(/*is_overtaken=*/true);
  add_node("b");
  observation_.now += std::chrono::minutes(1);
  EXPECT_FALSE(look_up().has_plan());
}

TEST_F(Capacity, FreeGpusThatTheJobMayNotUseAreNoCapacity) {
  add_node("a");
  const Error error{ErrorCode::kInfeasible, "no GPU is free"};
  const auto reason = [&] {
    return no_plan(observation_, error, cluster_of(nodes(NodeScope::kExisting), *observation_.cluster)).reason;
  };
  EXPECT_EQ(reason(), Reason::kPlanInfeasible);
  observation_.job.spec->resources.zones = {Zone("us-west1-b")};
  EXPECT_EQ(reason(), Reason::kWaitingForCapacity);
}

kube::Object node_that_reports(const char* gpus) {
  return std::make_shared<const kube::Json>(kube::Json::parse(fmt::format(
      R"({{"metadata": {{"name": "n", "uid": "u", "labels": {{"cloud.google.com/gke-accelerator": "nvidia-l4",
          "topology.kubernetes.io/zone": "us-central1-a", "topology.kubernetes.io/region": "us-central1"}}}},
          "status": {{"allocatable": {{"nvidia.com/gpu": {}}}}}}})",
      gpus)));
}

TEST(ClusterView, GpusThatNoNodeCanHaveDoNotCount) {
  const auto gpus = [](const char* reported) {
    const ClusterView view = cluster_view({.nodes = {node_that_reports(reported)}});
    return view.nodes.empty() ? 0 : view.nodes[0].gpus;
  };
  EXPECT_EQ(gpus("\"8\""), 8);
  EXPECT_EQ(gpus("2147483647"), 1024);
  EXPECT_EQ(gpus("\"9223372036854775807\""), 1024);
  EXPECT_EQ(gpus("-1"), 0);
}

}  // namespace
}  // namespace sailor
