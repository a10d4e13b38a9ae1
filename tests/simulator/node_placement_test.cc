// Tests which replicas share a node, and how they share its NIC.
#include "simulator/node_placement.h"

#include <gtest/gtest.h>

#include "core/schedule/schedule.h"
#include "simulator/simulator.h"
#include "tests/support/builders.h"

namespace sailor {
namespace {

using testing::a_cluster;
using testing::a_job;
using testing::a_key;
using testing::an_even_plan;

const std::string kZone = "us-central1-a";
const PoolKey kPool = a_key(kZone, "nvidia-l4");

Plan plan_of(const std::vector<std::vector<int>>& tensor_parallel_sizes) {
  Plan plan{"tiny-gpt2", 16, 1, {}};
  for (const auto& stage : tensor_parallel_sizes) {
    auto& replicas = plan.stages.emplace_back().replicas;
    for (const int tensor_parallel : stage) replicas.push_back({kPool, tensor_parallel, 1});
  }
  return plan;
}

using Nodes = std::vector<std::vector<int>>;

TEST(NodePlacement, NodesAreFilledOneAfterAnother) {
  EXPECT_EQ(node_placement(plan_of({{1, 1, 1}, {1, 1}}), a_cluster().pool(kZone, "nvidia-l4", 3, 2)),
            (Nodes{{0, 0, 1}, {1, 2}}));
}

TEST(NodePlacement, AllThatAPlanUsesOfAPoolIsOnOneNodeIfItFits) {
  const auto cluster = a_cluster().pool(kZone, "nvidia-l4", 1, 4).partly_free(2, 2);
  EXPECT_EQ(node_placement(plan_of({{1, 1}, {1, 1}}), cluster), (Nodes{{0, 0}, {0, 0}}));
}

TEST(NodePlacement, WiderGroupsArePlacedFirst) {
  EXPECT_EQ(node_placement(plan_of({{1, 2}, {2, 1}}), a_cluster().pool(kZone, "nvidia-l4", 3, 4)),
            (Nodes{{1, 0}, {0, 1}}));
}

TEST(NodePlacement, AGroupGoesToThePartlyUsedNodeWithTheFewestFreeGpusThatFitsIt) {
  const auto cluster = a_cluster().pool(kZone, "nvidia-l4", 2, 4).partly_free(3, 1);
  EXPECT_EQ(node_placement(plan_of({{3, 2, 1}}), cluster), (Nodes{{0, 1, 1}}))
      << "three GPUs fit the node with three, the pair begins another";
}

TEST(NodePlacement, AGroupThatFitsOnNoNodeHasNoNic) {
  EXPECT_EQ(node_placement(plan_of({{2, 2}}), a_cluster().pool(kZone, "nvidia-l4", 1, 2)),
            (Nodes{{0, ReplicaTimes::kNoNic}}));
}

// Eight replicas of two nodes of four send to eight others: with a NIC each, or one NIC for four of them.
TEST(NodePlacement, ASharedNicMakesTheMessagesOfANodeWaitForEachOther) {
  const JobSpec job = a_job().batch(64);
  const Plan plan = an_even_plan(job, kPool, 2, 8, 1);
  ClusterState shared = a_cluster().pool(kZone, "nvidia-l4", 4, 4);
  const Estimate apart = Simulator().simulate(job, shared, plan).value();
  NetworkModel network = google_cloud_network();
  // A node has the bandwidth of one GPU.
  shared.pools[0].inter_node_bandwidth = network.tier(NetworkTier::kZone).bandwidth;
  const Estimate together = Simulator({}, network).simulate(job, shared, plan).value();
  EXPECT_GT(together.time.point_to_point, apart.time.point_to_point);
  EXPECT_GT(together.time.gradient_sync, apart.time.gradient_sync);
  shared.pools[0].inter_node_bandwidth = network.tier(NetworkTier::kZone).bandwidth * 64.0;
  const Estimate wide = Simulator({}, network).simulate(job, shared, plan).value();
  EXPECT_LE(wide.iteration, apart.iteration);
}

// Four replicas of a node send to four of a node elsewhere. One GPU reaches 0.1 GB/s, all four together 0.2 GB/s.
TEST(NodePlacement, TheReplicasOfANodeShareTheWayToAnotherRegion) {
  const JobSpec job = a_job().batch(64);
  const auto point_to_point = [&](const std::string& zone) {
    NetworkModel network = google_cloud_network();
    for (Link& tier : network.tiers) tier.latency = Seconds(0);
    for (const auto& [gpus, rate] : {std::pair(1, 0.1), std::pair(4, 0.2)}) {
      const MeasuredEndpoint from{Zone(kZone), Accelerator("nvidia-l4"), gpus};
      const MeasuredEndpoint to{Zone(zone), Accelerator("nvidia-l4"), gpus};
      const BandwidthCurve curve{.constant = rate, .peak = BytesPerSecond(rate * 1e9)};
      network.measured.links.push_back({from, to, curve});
      network.measured.links.push_back({to, from, curve});
    }
    const ClusterState cluster = a_cluster().pool(kZone, "nvidia-l4", 1, 4).pool(zone, "nvidia-l4", 1, 4);
    Plan plan = an_even_plan(job, kPool, 2, 4, 1);
    for (Replica& replica : plan.stages[1].replicas) replica.pool = a_key(zone, "nvidia-l4");
    ExecutionModel waits = trainer_execution_model();
    waits.messages_beside_passes = false;
    return Simulator({}, network, waits).simulate(job, cluster, plan).value().time.point_to_point;
  };
  EXPECT_NEAR(point_to_point("us-west1-b") / point_to_point("us-central1-b"), 2, 0.1);
}

}  // namespace
}  // namespace sailor
