#include "simulator/expected_loss.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simulator/simulator.h"
#include "tests/support/builders.h"

namespace sailor {
namespace {

using testing::a_cluster;
using testing::a_job;
using testing::a_key;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

const std::string kZone = "us-central1-a";
constexpr Seconds kHour{3600};
constexpr double kPause = 8;  // seconds from the loss of a node until the others train again

// Nodes of one GPU that are lost every 100 hours.
ClusterState four_nodes() { return a_cluster().pool(kZone, "nvidia-l4", 4, 1).node_lifetime(kHour * 100); }

// Returns a plan whose stages have this many replicas each, every one on a node of its own.
Plan plan_of(const JobSpec& job, int stages, int replicas) {
  return testing::an_even_plan(job, a_key(kZone, "nvidia-l4"), stages, replicas, 1);
}

Estimate estimated(const JobSpec& job, const ClusterState& cluster, const Plan& plan) {
  return Simulator().estimate(job, cluster, plan).value();
}

JobSpec job_with_checkpoints() {
  return a_job().redundancy(Redundancy::kAuto).steps(1'000'000).checkpoint({.path = "/saved", .every_steps = 200});
}

TEST(ExpectedLoss, OfReplicasOnTwoNodesIsHalfAStepAndAPause) {
  const JobSpec job = job_with_checkpoints();
  const Estimate estimate = estimated(job, four_nodes(), plan_of(job, 1, 4));
  EXPECT_DOUBLE_EQ(estimate.expected_loss.failures_per_hour, 4 / 100.0);
  EXPECT_DOUBLE_EQ(estimate.expected_loss.per_failure.value(), kPause + estimate.iteration.value() / 2);
  EXPECT_THAT(estimate.expected_loss.exposed_stages, IsEmpty());
}

TEST(ExpectedLoss, OfStateOnOneNodeIsHalfAnIntervalOfCheckpointsAsWell) {
  const JobSpec job = job_with_checkpoints();
  const Estimate estimate = estimated(job, four_nodes(), plan_of(job, 2, 1));
  EXPECT_DOUBLE_EQ(estimate.expected_loss.per_failure.value(), kPause + estimate.iteration.value() * (0.5 + 100));
  EXPECT_THAT(estimate.expected_loss.exposed_stages, ElementsAre(0, 1));
}

TEST(ExpectedLoss, CountsOnlyTheNodesThatAloneHoldState) {
  const JobSpec job = job_with_checkpoints();
  Plan plan = plan_of(job, 2, 2);
  plan.stages[0].replicas = {{a_key(kZone, "nvidia-l4"), 1, plan.microbatches()}};
  const Estimate estimate = estimated(job, four_nodes(), plan);
  EXPECT_NEAR(estimate.expected_loss.per_failure.value(), kPause + estimate.iteration.value() * (0.5 + 100.0 / 3),
              1e-9);
  EXPECT_THAT(estimate.expected_loss.exposed_stages, ElementsAre(0));
}

TEST(ExpectedLoss, WithPeerReplicasIsThatOfReplicas) {
  const JobSpec job = job_with_checkpoints();
  Plan plan = plan_of(job, 2, 1);
  plan.peer_replicas = true;
  const Estimate estimate = estimated(job, four_nodes(), plan);
  EXPECT_DOUBLE_EQ(estimate.expected_loss.per_failure.value(), kPause + estimate.iteration.value() / 2);
}

TEST(ExpectedLoss, OnASingleNodePeerReplicasHaveNoPlace) {
  const JobSpec job = job_with_checkpoints();
  Plan plan = plan_of(job, 1, 1);
  plan.peer_replicas = true;
  EXPECT_THAT(estimated(job, four_nodes(), plan).expected_loss.exposed_stages, ElementsAre(0));
}

TEST(ExpectedLoss, CheckpointsByTimeLimitIt) {
  JobSpec job = job_with_checkpoints();
  job.checkpoint.every_steps = 1'000'000;
  job.checkpoint.every_seconds = 60;
  const Estimate estimate = estimated(job, four_nodes(), plan_of(job, 2, 1));
  EXPECT_DOUBLE_EQ(estimate.expected_loss.per_failure.value(), kPause + 30 + estimate.iteration.value());
}

TEST(ExpectedLoss, WithoutCheckpointsIsHalfTheJob) {
  const JobSpec job = a_job().redundancy(Redundancy::kAuto).steps(5000);
  const Estimate estimate = estimated(job, four_nodes(), plan_of(job, 2, 1));
  EXPECT_NEAR(estimate.expected_loss.per_failure.value(), kPause + estimate.iteration.value() * (0.5 + 2500), 1e-6);
}

TEST(ExpectedLoss, SpotNodesAreLostMoreOften) {
  const JobSpec job = job_with_checkpoints();
  const ClusterState cluster = a_cluster().pool(kZone, "nvidia-l4", 4, 1, Provisioning::kSpot);
  const Plan plan = testing::an_even_plan(job, a_key(kZone, "nvidia-l4", Provisioning::kSpot), 1, 4, 1);
  EXPECT_DOUBLE_EQ(estimated(job, cluster, plan).expected_loss.failures_per_hour, 4 / 24.0);
}

}  // namespace
}  // namespace sailor
