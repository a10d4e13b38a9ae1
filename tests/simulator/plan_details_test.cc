// The items of an estimate sum up to it.
#include "simulator/plan_details.h"

#include <set>

#include <gtest/gtest.h>

#include "simulator/simulator.h"
#include "tests/support/builders.h"
#include "tests/support/random_plans.h"

namespace sailor {
namespace {

using testing::a_cluster;
using testing::a_job;
using testing::a_key;

const std::vector<std::string> kZones = {"us-central1-a", "us-central1-b", "us-west1-a", "europe-west4-a"};

ClusterState four_zones() {
  auto cluster = a_cluster();
  for (const std::string& zone : kZones) cluster.pool(zone, "nvidia-l4", 16, 2).price(0.7);
  return cluster.whole_nodes();  // the last one
}

// The stages of random plans on random pools, tensor-parallel pairs among them.
Plan scattered(testing::Random& random, const JobSpec& job) {
  Plan plan = testing::a_random_pool_plan(random);
  plan.global_batch_size = job.training.global_batch_size;
  plan.microbatch_size = 1;
  const int layers = job.model.layer_count();
  plan.stages.resize(std::min<std::size_t>(plan.stages.size(), static_cast<std::size_t>(layers)));
  int first = 0;
  for (Stage& stage : plan.stages) {
    const int replicas = testing::between(random, 1, 5);
    stage.first_layer = first;
    stage.last_layer = &stage == &plan.stages.back() ? layers : ++first;
    stage.replicas.clear();
    for (const int share : testing::random_shares(random, plan.microbatches(), replicas)) {
      const auto zone = static_cast<std::size_t>(testing::between(random, 0, 3));
      stage.replicas.push_back({a_key(kZones[zone], "nvidia-l4"), testing::between(random, 1, 2), share});
    }
  }
  return plan;
}

TEST(PlanDetails, ChargesAndTrafficSumUpToTheEstimate) {
  JobSpec job = a_job().batch(16);
  const ClusterState cluster = four_zones();
  const Simulator simulator;
  testing::Random random(1);
  for (int round = 0; round < 200; ++round) {
    SCOPED_TRACE(round);
    job.redundancy = Redundancy::kAuto;
    Plan plan = scattered(random, job);
    plan.peer_replicas = round % 2 == 1;
    const Estimate estimate = simulator.simulate(job, cluster, plan).value();
    const PlanDetails details = simulator.details(job, cluster, plan).value();
    Dollars gpus(0);
    for (const PoolCharge& charge : details.charges) gpus += charge.cost;
    Dollars traffic(0);
    for (const ZoneTraffic& link : details.traffic) traffic += link.cost;
    EXPECT_NEAR(gpus.value(), estimate.gpu_cost_per_iteration.value(), 1e-12);
    EXPECT_NEAR(traffic.value(), estimate.traffic_cost_per_iteration.value(), 1e-12);
    ASSERT_EQ(details.memory.size(), estimate.memory.size());
    for (std::size_t i = 0; i < details.memory.size(); ++i) EXPECT_EQ(details.memory[i].use, estimate.memory[i]);
  }
}

TEST(PlanDetails, ARingOverTwoZonesCrossesTheirBorderTwice) {
  const JobSpec job = a_job().batch(16);
  Plan plan{job.model.name, 16, 1, {{0, job.model.layer_count(), {}}}};
  for (const char* zone : {"us-central1-a", "us-central1-a", "us-central1-b"}) {
    plan.stages[0].replicas.push_back({a_key(zone, "nvidia-l4"), 1, zone == kZones[1] ? 6 : 5});
  }
  const auto traffic = Simulator().details(job, four_zones(), plan).value().traffic;
  ASSERT_EQ(traffic.size(), 3U);
  const Bytes hop = traffic[0].gradients;
  EXPECT_NEAR(hop.value(), static_cast<double>(stage_parameters(job.model, 0, job.model.layer_count())) * 4 * 4 / 3,
              1.0)
      << "2 (n - 1) / n";
  EXPECT_EQ(traffic[0].from, traffic[0].to) << "the two replicas of one zone are neighbours";
  EXPECT_EQ(traffic[1].gradients, hop);
  EXPECT_EQ(traffic[2].gradients, hop);
  EXPECT_EQ(traffic[0].cost, Dollars(0));
  EXPECT_GT(traffic[1].cost, Dollars(0));
}

TEST(PlanDetails, TheLatencyOfAGradientSyncIsAPartOfIt) {
  const JobSpec job = a_job().batch(16);
  const Plan plan = testing::an_even_plan(job, a_key("us-central1-a", "nvidia-l4"), 2, 4, 1);
  const PlanDetails details = Simulator().details(job, four_zones(), plan).value();
  ASSERT_EQ(details.syncs.size(), 2U);
  const double exposed = static_cast<double>((details.step.synced[0] - details.step.passes_done[0]).count()) * 1e-9;
  EXPECT_GE(details.syncs[0].latency, google_cloud_network().tier(NetworkTier::kZone).latency * 2.0) << "to and fro";
  EXPECT_LT(details.syncs[0].latency, details.syncs[0].whole);
  EXPECT_LE(exposed, details.syncs[0].whole.value() + 1e-9) << "passes may hide a part of it";
  NetworkModel instant = google_cloud_network();
  for (Link& link : instant.tiers) link.latency = Seconds(0);
  EXPECT_EQ(Simulator({}, instant).details(job, four_zones(), plan).value().syncs[0].latency, Seconds(0));
}

TEST(PlanDetails, WholeNodesArePaidForWhereOneOfTheirGpusIsUsed) {
  const JobSpec job = a_job().batch(16);
  const Plan plan = testing::an_even_plan(job, a_key("europe-west4-a", "nvidia-l4"), 1, 3, 1);
  const auto charges = Simulator().details(job, four_zones(), plan).value().charges;
  ASSERT_EQ(charges.size(), 1U);
  EXPECT_EQ(charges[0].used, 3);
  EXPECT_EQ(charges[0].paid, 4);
}

}  // namespace
}  // namespace sailor
