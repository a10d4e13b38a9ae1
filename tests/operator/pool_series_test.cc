// The series of pools: GPUs, prices and preemptions.
#include "operator/metrics/pool_series.h"

#include <gtest/gtest.h>

#include "operator/reconcile/observe/pool_watch.h"
#include "tests/operator/series.h"

namespace sailor::testing {
namespace {

const PoolKey kSpot{Zone("us-central1-a"), Accelerator("nvidia-tesla-a100"), Provisioning::kSpot};
const PoolKey kOnDemand{Zone("us-central1-a"), Accelerator("nvidia-tesla-v100"), Provisioning::kOnDemand};

class PoolSeriesTest : public ::testing::Test {
 protected:
  PoolSeriesTest() {
    add_node("a", kSpot);
    add_node("b", kSpot);
    add_node("c", kOnDemand);
    note();
  }
  void note() {
    watch.observe_all(view, {}, Time());
    series.note(view, *watch.histories());
  }
  void add_node(const std::string& uid, const PoolKey& pool) {
    NodeView node;
    node.name = node.uid = uid;
    node.pool = pool;
    node.gpus = 4;
    view.nodes.push_back(node);
    uids.insert(uid);
    view.node_uids = NodeUids(uids);
    view.pools[pool].price_per_gpu = DollarsPerHour(pool == kSpot ? 1.5 : 2.5);
  }
  void remove_node(const std::string& uid) {
    view.nodes.erase(uid);
    uids.erase(uid);
    view.node_uids = NodeUids(uids);
    note();
  }
  void terminate(const std::string& name) {
    view.nodes.change(name, [](NodeView& node) { node.is_terminating = true; });
  }
  [[nodiscard]] std::optional<double> preemptions(const PoolKey& pool = kSpot) {
    return value_of(registry, "sailor_pool_preemptions_total", {{"pool", to_string(pool)}});
  }
  ClusterView view;
  std::set<std::string> uids;
  PoolWatch watch;
  SeriesRegistry registry;
  PoolSeries series{registry};
};

TEST_F(PoolSeriesTest, PoolHasGpusByStateAndAPrice) {
  view.nodes.change("a", [](NodeView& node) { node.used = {{"job", 3}, {"", 1}}; });
  terminate("b");
  note();
  const prometheus::Labels pool{
      {"zone", "us-central1-a"}, {"accelerator", "nvidia-tesla-a100"}, {"provisioning", "spot"}};
  const auto gpus = [&](const char* state) {
    prometheus::Labels labels = pool;
    labels["state"] = state;
    return value_of(registry, "sailor_pool_gpus", labels);
  };
  EXPECT_EQ(gpus("allocatable"), 8);
  EXPECT_EQ(gpus("used"), 4);
  EXPECT_EQ(gpus("terminating"), 4);
  EXPECT_EQ(value_of(registry, "sailor_pool_price_dollars_per_gpu_hour", pool), 1.5);
}

TEST_F(PoolSeriesTest, PreemptionIsCountedOnceWithOrWithoutNotice) {
  EXPECT_EQ(preemptions(), 0);
  terminate("a");
  note();
  EXPECT_EQ(preemptions(), 1);
  remove_node("a");
  EXPECT_EQ(preemptions(), 1) << "it was counted when it was announced";
  remove_node("b");
  EXPECT_EQ(preemptions(), 2) << "it went without notice";
}

TEST_F(PoolSeriesTest, NodesThatAreRemovedOnPurposeOrOnDemandAreNotPreempted) {
  view.nodes.change("a", [](NodeView& node) { node.is_cordoned = true; });
  note();
  remove_node("a");
  EXPECT_EQ(preemptions(), 0);
  remove_node("c");
  EXPECT_EQ(preemptions(kOnDemand), std::nullopt);
}

TEST_F(PoolSeriesTest, NodeThatTheAutoscalerRemovesIsNotPreempted) {
  terminate("a");
  view.nodes.change("a", [](NodeView& node) { node.taints = {{"ToBeDeletedByClusterAutoscaler", "", "NoSchedule"}}; });
  note();
  remove_node("a");
  EXPECT_EQ(preemptions(), 0);
}

TEST_F(PoolSeriesTest, PoolSaysHowManyNodesJobsWaitFor) {
  view.awaited[kSpot].pods = 3;
  note();
  EXPECT_EQ(value_of(registry, "sailor_pool_awaited_nodes", {{"pool", to_string(kSpot)}}), 3);
  view.awaited.clear();
  note();
  EXPECT_EQ(value_of(registry, "sailor_pool_awaited_nodes", {{"pool", to_string(kSpot)}}), 0);
}

TEST_F(PoolSeriesTest, SeriesGoWithThePoolButPreemptionsStay) {
  remove_node("a");
  remove_node("b");
  view.pools.erase(kSpot);
  note();
  EXPECT_EQ(value_of(registry, "sailor_pool_gpus", {{"pool", to_string(kSpot)}}), std::nullopt);
  EXPECT_EQ(preemptions(), 2);
}

TEST_F(PoolSeriesTest, NodesThatTerminateWhenTheOperatorStartsAreNotCounted) {
  SeriesRegistry other_registry;
  PoolSeries other(other_registry);
  PoolWatch of_other;
  terminate("a");
  of_other.observe_all(view, {}, Time());
  other.note(view, *of_other.histories());
  EXPECT_EQ(value_of(other_registry, "sailor_pool_preemptions_total", {{"pool", to_string(kSpot)}}), 0);
}

}  // namespace
}  // namespace sailor::testing
