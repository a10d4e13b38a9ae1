// Tests which techniques the planner chooses: recomputed activations, sequence parallelism, sharded optimizers, peer
// replicas.
#include <limits>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planner/planner.h"
#include "simulator/simulator.h"
#include "tests/support/builders.h"
#include "tests/support/slow_gpus.h"

namespace sailor {
namespace {

using testing::a_cluster;
using testing::a_job;

Result<PlannedJob> plan(const JobSpec& job, const ClusterState& cluster, const PlanOptions& options = {}) {
  static const Simulator simulator;
  return Planner(simulator).plan(job, cluster, options, {});
}

const std::string kZone = "us-central1-a";

TEST(Techniques, AutoRecomputesActivationsIfNothingFitsOtherwise) {
  const auto job = [](ActivationCheckpointing wish) {
    JobSpec spec = a_job().model("opt-1.3b").sequence_length(2048).batch(16).microbatch_sizes({2});
    spec.training.activation_checkpointing = wish;
    return spec;
  };
  PlanOptions options;
  options.max_tensor_parallel = 1;
  const ClusterState small = a_cluster().pool(kZone, "nvidia-tesla-t4", 1, 3);
  EXPECT_FALSE(plan(job(ActivationCheckpointing::kNever), small, options));
  const auto planned = plan(job(ActivationCheckpointing::kAuto), small, options);
  ASSERT_TRUE(planned) << planned.error().message;
  EXPECT_TRUE(planned->plan.activation_checkpointing);
  EXPECT_TRUE(planned->estimate.fits());
  EXPECT_LE(planned->bound_ratio(), 1);
}

TEST(Techniques, AutoKeepsActivationsIfMemorySuffices) {
  JobSpec job = a_job().model("opt-125m").batch(64);
  const ClusterState cluster = a_cluster().pool(kZone, "nvidia-tesla-a100", 2, 4);
  const Plan without = plan(job, cluster).value().plan;
  job.training.activation_checkpointing = ActivationCheckpointing::kAuto;
  EXPECT_EQ(plan(job, cluster).value().plan, without);
}

// A job with one wide block and a small vocabulary. Its activations, ten times the width on one GPU, decide whether it
// fits in memory.
JobSpec a_wide_job(int sequence_length, int microbatch_size) {
  JobSpec job =
      a_job().blocks(1).sequence_length(sequence_length).batch(microbatch_size).microbatch_sizes({microbatch_size});
  job.model.hidden_size = job.model.ffn_size = 4096;
  job.model.heads = job.model.kv_heads = 32;
  return job;
}

TEST(Techniques, SequenceParallelismSavesEnoughMemoryForAPlanThatDoesNotFitOtherwise) {
  JobSpec job = a_wide_job(2048, 36);
  const ClusterState small = a_cluster().pool(kZone, "nvidia-tesla-t4", 1, 2);
  EXPECT_FALSE(plan(job, small));
  job.training.sequence_parallelism = SequenceParallelism::kAlways;
  const auto planned = plan(job, small);
  ASSERT_TRUE(planned) << planned.error().message;
  EXPECT_TRUE(planned->plan.sequence_parallelism);
  EXPECT_TRUE(planned->estimate.fits());
  EXPECT_LE(planned->bound_ratio(), 1);
}

TEST(Techniques, WithSequenceParallelismTensorParallelSizesDivideTheSequence) {
  const ClusterState small = a_cluster().pool(kZone, "nvidia-tesla-t4", 1, 4);
  const auto plan_of = [&](int sequence_length) {
    JobSpec job = a_wide_job(sequence_length, 64);
    job.training.sequence_parallelism = SequenceParallelism::kAlways;
    return plan(job, small);
  };
  ASSERT_TRUE(plan_of(2048));
  EXPECT_EQ(plan_of(2048)->plan.stages.front().replicas.front().tensor_parallel, 4) << "no smaller group fits";
  EXPECT_FALSE(plan_of(2046));
}

TEST(Techniques, AShardedOptimizerIsChosenWithPeerReplicasIfItIsFaster) {
  JobSpec job = a_job().model("gpt2").sequence_length(512).batch(512);
  const ClusterState cluster = a_cluster().pool(kZone, "nvidia-tesla-t4", 2, 4);
  EXPECT_FALSE(plan(job, cluster).value().plan.sharded_optimizer);
  job.redundancy = Redundancy::kPeer;
  const auto with_replicas = plan(job, cluster).value();
  EXPECT_TRUE(with_replicas.plan.sharded_optimizer);
  EXPECT_TRUE(with_replicas.estimate.fits());
  EXPECT_LE(with_replicas.bound_ratio(), 1);
}

TEST(Techniques, AShardedOptimizerIsChosenOnlyIfItIsAllowedAndFaster) {
  JobSpec job = a_job().model("gpt2").sequence_length(512).batch(256);
  const ClusterState cluster = a_cluster().pool(kZone, "nvidia-l4", 4, 4);
  const auto without = plan(job, cluster).value();
  EXPECT_FALSE(without.plan.sharded_optimizer);
  job.redundancy = Redundancy::kPeer;
  const auto with = plan(job, cluster).value();
  EXPECT_TRUE(with.plan.sharded_optimizer);
  EXPECT_LT(with.estimate.iteration, without.estimate.iteration);
  EXPECT_LE(with.bound_ratio(), 1);
}

// Two nodes of one GPU. If a job has one microbatch and must use both GPUs, its plan has two stages.
ClusterState two_nodes(Seconds lifetime) {
  return a_cluster()
      .pool(kZone, "nvidia-l4", 1, 1)
      .node_lifetime(lifetime)
      .pool("us-central1-b", "nvidia-tesla-t4", 1, 1)
      .node_lifetime(lifetime);
}

TEST(Techniques, AutoKeepsPeerReplicasIfStateWouldBeLostWithANode) {
  const JobSpec job = a_job().redundancy(Redundancy::kAuto).steps(1'000'000).min_gpus(2).batch(2).microbatch_sizes({2});
  const ClusterState cluster = two_nodes(Seconds(3600));
  const auto planned = plan(job, cluster).value();
  ASSERT_EQ(planned.plan.stages.size(), 2U);
  EXPECT_TRUE(planned.plan.peer_replicas);
  EXPECT_TRUE(planned.estimate.expected_loss.exposed_stages.empty());
}

TEST(Techniques, AutoKeepsNoPeerReplicasIfTheyCostMoreThanTheySave) {
  JobSpec job = a_job().model("gpt2").redundancy(Redundancy::kAuto).min_gpus(2).batch(2).microbatch_sizes({2});
  job.checkpoint = {.path = "/saved", .every_steps = 1};
  const ClusterState cluster = two_nodes(Seconds(1e9));
  const auto planned = plan(job, cluster).value();
  ASSERT_EQ(planned.plan.stages.size(), 2U);
  EXPECT_FALSE(planned.plan.peer_replicas);
  EXPECT_EQ(planned.estimate.expected_loss.exposed_stages.size(), 2U);
}

TEST(Techniques, AutoUsesReplicasOnTwoNodesWithoutPeerReplicas) {
  const JobSpec job = a_job().redundancy(Redundancy::kAuto).batch(16);
  const auto planned = plan(job, a_cluster().pool(kZone, "nvidia-l4", 4, 1)).value();
  ASSERT_EQ(planned.plan.stages.size(), 1U);
  EXPECT_EQ(planned.plan.stages[0].replicas.size(), 4U);
  EXPECT_TRUE(planned.estimate.expected_loss.exposed_stages.empty());
}

TEST(Techniques, AutoDoesWithoutPeerReplicasThatDoNotFitInMemory) {
  const ClusterState cluster = a_cluster().pool(kZone, "nvidia-tesla-t4", 2, 1);
  JobSpec job = a_job().model("gpt2-large").batch(1).sequence_length(128).microbatch_sizes({1});
  ASSERT_TRUE(plan(job, cluster));
  job.redundancy = Redundancy::kPeer;
  ASSERT_FALSE(plan(job, cluster));
  job.redundancy = Redundancy::kAuto;
  const auto planned = plan(job, cluster).value();
  EXPECT_FALSE(planned.plan.peer_replicas);
  EXPECT_FALSE(planned.estimate.expected_loss.exposed_stages.empty());
}

TEST(Techniques, APlanThatRunsKeepsOrGetsThePeerReplicasThatItsJobAsksFor) {
  JobSpec job = a_job().redundancy(Redundancy::kNone).min_gpus(2).batch(2).microbatch_sizes({2});
  const ClusterState cluster =
      a_cluster().pool(kZone, "nvidia-l4", 1, 1).pool("us-central1-b", "nvidia-tesla-t4", 1, 1);
  Plan running = plan(job, cluster).value().plan;
  job.redundancy = Redundancy::kPeer;
  const Plan next = plan(job, cluster, {.current = running}).value().plan;
  EXPECT_TRUE(next.peer_replicas);
  running.peer_replicas = true;
  EXPECT_EQ(next, running);
}

// Found with the 70B model on 32 GPUs: its plans barely fit without recomputing.
TEST(Techniques, AutoIsNeverSlowerThanKeepingOrRecomputingActivations) {
  static const Simulator simulator({}, google_cloud_network(), trainer_execution_model());
  for (const testing::LargeShape& shape : testing::large_shapes()) {
    for (const int gpus : {32, 64}) {
      SCOPED_TRACE(fmt::format("{} on {} GPUs", shape.name, gpus));
      const auto seconds = [&](ActivationCheckpointing wish) {
        JobSpec job = testing::a_large_job(shape);
        job.training.activation_checkpointing = wish;
        const auto planned = Planner(simulator).plan(job, testing::healthy_gpus(gpus), {}, {});
        return planned ? planned->estimate.iteration.value() : std::numeric_limits<double>::infinity();
      };
      EXPECT_LE(seconds(ActivationCheckpointing::kAuto), seconds(ActivationCheckpointing::kNever));
      EXPECT_LE(seconds(ActivationCheckpointing::kAuto), seconds(ActivationCheckpointing::kAlways));
    }
  }
}

}  // namespace
}  // namespace sailor
