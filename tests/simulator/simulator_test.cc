// Compares the simulator's figures with figures computed by hand, and checks what its notes say about its sources.
#include "simulator/simulator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simulator/plan_details.h"
#include "tests/support/builders.h"
#include "tests/support/networks.h"
#include "tests/support/profiles.h"

namespace sailor {
namespace {

using testing::a_cluster;
using testing::a_job;
using testing::a_key;
using testing::an_even_plan;
using ::testing::Contains;
using ::testing::ElementsAre;
using testing::free_network;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string kZone = "us-central1-a";
const PoolKey kPool = a_key(kZone, "nvidia-l4");

ModelProfile a_profile(const JobSpec& job, const std::vector<ProfilePoint>& points) {
  return testing::a_profile(job, kPool.accelerator, points);
}

ProfileBook book(ModelProfile profile) {
  ProfileBook profiles;
  profiles.add(std::move(profile));
  return profiles;
}

Estimate estimate(const Simulator& simulator, const JobSpec& job, const Plan& plan) {
  return simulator.estimate(job, a_cluster().pool(kZone, "nvidia-l4", 16, 1).price(36), plan).value();
}

TEST(Simulator, EqualStagesTakeTheTextbooksTime) {
  const JobSpec job = a_job().batch(8);
  const Simulator simulator(book(a_profile(job, {{1, 1}})), free_network());
  const Estimate result = estimate(simulator, job, an_even_plan(job, kPool, 3, 2, 1));
  const double pass = 2 * 3e-3;  // two layers a stage
  EXPECT_NEAR((result.time.compute + result.time.bubble).value(), (8 / 2 + 3 - 1) * pass, 1e-12);
  EXPECT_NEAR(result.time.compute.value(), 4 * pass, 1e-12);
  EXPECT_NEAR(result.time.update.value(), 2 * 5e-4, 1e-12);
  EXPECT_EQ(result.time.point_to_point, Seconds(0));
}

// 31 replicas of 8 microbatches on eight nodes; in the second plan, one has 9 and another 7.
TEST(Simulator, ReplicasWithOtherNumbersOfMicrobatchesSumGradientsNodeByNodeToo) {
  const JobSpec job = a_job().model("opt-350m").batch(31 * 8).microbatch_sizes({1});
  const ClusterState cluster = a_cluster().pool(kZone, "nvidia-tesla-a100", 8, 4);
  Plan plan = an_even_plan(job, a_key(kZone, "nvidia-tesla-a100"), 1, 31, 1);
  const Estimate equal = Simulator().simulate(job, cluster, plan).value();
  plan.stages[0].replicas[0].microbatches += 1;
  plan.stages[0].replicas[1].microbatches -= 1;
  const Estimate unequal = Simulator().simulate(job, cluster, plan).value();
  EXPECT_NEAR(unequal.time.gradient_sync.value(), equal.time.gradient_sync.value(), 1e-6);
}

TEST(Simulator, PartsOfTheTimeSumUpToIt) {
  const JobSpec job = a_job().batch(8);
  const Estimate result = estimate(Simulator(), job, an_even_plan(job, kPool, 3, 2, 1));
  const TimeBreakdown& time = result.time;
  const Seconds sum = time.compute + time.bubble + time.point_to_point + time.gradient_sync + time.update;
  EXPECT_NEAR(sum.value(), result.iteration.value(), 1e-12);
  EXPECT_GT(time.point_to_point, Seconds(0));
  EXPECT_GT(time.gradient_sync, Seconds(0));
}

TEST(Simulator, APlanOnAnUnknownAcceleratorIsRefusedWithItsField) {
  const JobSpec job = a_job().batch(8);
  const auto estimated = Simulator().estimate(job, a_cluster().pool(kZone, "nvidia-abacus", 2, 1),
                                              an_even_plan(job, a_key(kZone, "nvidia-abacus"), 1, 2, 1));
  ASSERT_FALSE(estimated);
  EXPECT_THAT(estimated.error().message,
              HasSubstr("plan.stages[0].replicas[0].pool: the accelerator of us-central1-a/nvidia-abacus/ondemand is "
                        "unknown; state"));
}

// A profile has times, but not the memory of a GPU.
TEST(Simulator, AProfileDoesNotMakeAnAcceleratorKnown) {
  const JobSpec job = a_job().batch(8);
  const PoolKey pool = a_key(kZone, "nvidia-abacus");
  const Simulator simulator(book(testing::a_profile(job, pool.accelerator, {{1, 1}})), free_network());
  const auto cluster = a_cluster().pool(kZone, "nvidia-abacus", 2, 1);
  const Plan plan = an_even_plan(job, pool, 1, 2, 1);
  EXPECT_FALSE(simulator.estimate(job, cluster, plan));
  const auto described =
      simulator.estimate(job, testing::ClusterBuilder(cluster).describe("nvidia-abacus", "nvidia-l4"), plan);
  ASSERT_TRUE(described) << described.error().message;
  EXPECT_NEAR(described->time.compute.value(), 4 * 6 * 3e-3, 1e-12) << "the profile's times";
}

TEST(Simulator, MemoryOfADescribedAcceleratorIsThatOfItsGpuPool) {
  const JobSpec job = a_job().batch(8);
  const PoolKey pool = a_key(kZone, "nvidia-abacus");
  AcceleratorSpec small = *find_accelerator(Accelerator("nvidia-l4"));
  small.name = pool.accelerator;
  small.memory = gibibytes(1);
  const auto estimated = Simulator().estimate(job, a_cluster().pool(kZone, "nvidia-abacus", 2, 1).describe(small),
                                              an_even_plan(job, pool, 1, 2, 1));
  ASSERT_TRUE(estimated) << estimated.error().message;
  EXPECT_THAT(estimated->violations, Contains(HasSubstr("of memory on nvidia-abacus, where plans may use 1.0 of 1.0")));
}

TEST(Simulator, GpusCostTheirPriceForTheTimeTheyWork) {
  const JobSpec job = a_job().batch(8);
  const Simulator simulator(book(a_profile(job, {{1, 1}})), free_network());
  const Estimate result = estimate(simulator, job, an_even_plan(job, kPool, 1, 2, 1));
  EXPECT_NEAR(result.gpu_cost_per_iteration.value(), 2 * 0.01 * result.iteration.value(), 1e-12) << "36 $/h: a cent/s";
  EXPECT_NEAR(result.cost_per_hour.value(), 72, 1e-9);
}

TEST(Simulator, TrafficBetweenRegionsIsPaidForBothWays) {
  const JobSpec job = a_job().batch(8);
  Plan plan = an_even_plan(job, kPool, 2, 1, 1);
  plan.stages[1].replicas[0].pool = a_key("us-west1-b", "nvidia-l4");
  const auto cluster = a_cluster().pool(kZone, "nvidia-l4", 1, 1).pool("us-west1-b", "nvidia-l4", 1, 1);
  const Estimate result = Simulator().estimate(job, cluster, plan).value();
  const double bytes = 2.0 * 8 * 512 * 128 * 4;  // both ways, eight microbatches of 512 tokens, width 128, FP32
  // The two replicas that hold the tied embedding sum its gradients: each sends four bytes per parameter.
  const double tied = 2.0 * job.model.vocab_size * 128 * 4;
  EXPECT_NEAR(result.traffic_cost_per_iteration.value(), (bytes + tied) * 0.02 / 1e9, 1e-15);
}

TEST(Simulator, TrafficHasThePriceOfItsDirection) {
  JobSpec job = a_job().batch(8);
  job.model.tied_embeddings = false;  // its ring would be traffic too
  Plan plan = an_even_plan(job, kPool, 2, 1, 1);
  plan.stages[1].replicas[0].pool = a_key("us-west1-b", "nvidia-l4");
  const auto cluster = a_cluster().pool(kZone, "nvidia-l4", 1, 1).pool("us-west1-b", "nvidia-l4", 1, 1);
  NetworkModel network = google_cloud_network();
  network.measured.prices = {{Zone(kZone), Zone("us-west1-b"), dollars_per_gigabyte(0.02)},
                             {Zone("us-west1-b"), Zone(kZone), dollars_per_gigabyte(0.08)}};
  const double one_way = 8.0 * 512 * 128 * 4;
  EXPECT_NEAR(Simulator({}, network).estimate(job, cluster, plan).value().traffic_cost_per_iteration.value(),
              one_way * (0.02 + 0.08) / 1e9, 1e-15);
}

TEST(Simulator, MeasuredTimesAreUsedUnchanged) {
  const JobSpec job = a_job().batch(8);
  const Simulator simulator(book(a_profile(job, {{1, 1}})), free_network());
  EXPECT_THAT(estimate(simulator, job, an_even_plan(job, kPool, 1, 1, 1)).notes, ElementsAre());
}

TEST(Simulator, SizesBetweenMeasuredOnesAreInterpolatedAndItSaysSo) {
  const JobSpec job = a_job().batch(8);
  const Simulator simulator(book(a_profile(job, {{1, 1}, {4, 1}})), free_network());
  const Estimate result = estimate(simulator, job, an_even_plan(job, kPool, 1, 1, 2));
  EXPECT_NEAR(result.time.compute.value(), 4 * 6 * 2 * 3e-3, 1e-12);
  EXPECT_THAT(result.notes, ElementsAre(HasSubstr("microbatches of 2 are interpolated between measured sizes")));
}

TEST(Simulator, OutsideTheMeasuredRangeAnalyticTimesAreScaledAndItSaysSo) {
  const JobSpec job = a_job().batch(8);
  const Simulator simulator(book(a_profile(job, {{1, 1}})), free_network());
  const Estimate result = estimate(simulator, job, an_even_plan(job, kPool, 1, 1, 4));
  EXPECT_THAT(result.notes, ElementsAre(HasSubstr("outside the measured range")));
  EXPECT_GT(result.time.compute.value(), 2 * 6 * 3e-3) << "a microbatch of four takes longer than one of one";
}

TEST(Simulator, MemoryOfATensorParallelSizeThatWasNotMeasuredIsComputedAndItSaysSo) {
  const JobSpec job = a_job().batch(8);
  ModelProfile profile = a_profile(job, {{1, 1}});
  profile.memory[2].resize(static_cast<std::size_t>(job.model.layer_count()));
  const Estimate result = estimate(Simulator(book(profile), free_network()), job, an_even_plan(job, kPool, 1, 1, 1));
  EXPECT_THAT(result.notes, ElementsAre(HasSubstr("memory of tiny-gpt2 in groups of 1: computed from its shape")));
}

TEST(Simulator, AProfileOfAnotherNumberOfLayersIsAnError) {
  const JobSpec job = a_job().batch(8);
  ModelProfile profile = a_profile(job, {{1, 1}});
  profile.times.begin()->second.pop_back();
  const auto cluster = a_cluster().pool(kZone, "nvidia-l4", 1, 1);
  const auto result = Simulator(book(profile)).estimate(job, cluster, an_even_plan(job, kPool, 1, 1, 1));
  EXPECT_THAT(result.error().message, HasSubstr("has 5 layers where the job's model has 6; measure it again"));
}

TEST(Simulator, AStepOfMorePassesThanCanBeScheduledIsAnErrorThatSaysWhatToDo) {
  const JobSpec job = a_job().batch(1 << 25);
  const auto cluster = a_cluster().pool(kZone, "nvidia-l4", 1, 1);
  const auto result = Simulator().simulate(job, cluster, an_even_plan(job, kPool, 1, 1, 1));
  EXPECT_THAT(result.error().message, HasSubstr("make microbatches larger"));
}

// The first stage of three has three replicas of equal speed, which the other two feed on.
TEST(Simulator, AStepThatIsTooLongToSimulateIsEstimatedFromItsBeginning) {
  const JobSpec job = a_job().batch(3 << 18);
  const auto cluster = a_cluster().pool(kZone, "nvidia-l4", 5, 1);
  Plan plan = an_even_plan(job, kPool, 3, 1, 1);
  plan.stages[0].replicas.assign(3, {kPool, 1, 1 << 18});
  const auto time_of = [&](const Plan& one) {
    JobSpec batch = job;
    batch.training.global_batch_size = one.global_batch_size;
    return Simulator().simulate(batch, cluster, one).value();
  };
  Plan shorter = plan;
  shorter.global_batch_size /= 1 << 8;
  for (Stage& stage : shorter.stages) {
    for (Replica& replica : stage.replicas) replica.microbatches /= 1 << 8;
  }
  const Estimate whole = time_of(plan);
  EXPECT_NEAR(whole.iteration / time_of(shorter).iteration, 1 << 8, 3);
  EXPECT_THAT(whole.notes, Contains(HasSubstr("a step has 786432 microbatches in 3 stages, too many to simulate")));
  const PlanDetails details = Simulator().details(job, cluster, plan).value();
  EXPECT_LT(details.step_microbatches, 1 << 15);
  EXPECT_NEAR(static_cast<double>(details.step.passes[0][1].size()) / details.step_microbatches, 2.0 / 3, 1e-3);
  EXPECT_EQ(details.step.passes[1][0].size(), 2U * static_cast<std::size_t>(details.step_microbatches));
}

TEST(Simulator, WithoutAMeasurementItSaysThatItComputed) {
  const JobSpec job = a_job().batch(8);
  EXPECT_THAT(estimate(Simulator(), job, an_even_plan(job, kPool, 1, 1, 1)).notes,
              ElementsAre(HasSubstr("analytic profile of tiny-gpt2 on nvidia-l4")));
}

TEST(Simulator, APlanThatDoesNotFitIsAResultThatNamesStageRequirementAndLimit) {
  const JobSpec job = a_job().model("opt-6.7b").sequence_length(2048).batch(8);
  const Plan plan = an_even_plan(job, kPool, 2, 1, 1);
  const Estimate result = estimate(Simulator(), job, plan);
  EXPECT_FALSE(result.fits());
  EXPECT_THAT(result.violations.front(), ::testing::MatchesRegex("stage 0: needs [0-9.]+ GiB of memory on nvidia-l4, "
                                                                 "where plans may use 22.1 of 23.0 GiB"));
}

TEST(Simulator, APlanThatNeedsMoreGpusThanThePoolHasIsAResultWithAViolation) {
  const JobSpec job = a_job().batch(32);
  const Estimate result = estimate(Simulator(), job, an_even_plan(job, kPool, 1, 17, 1));
  EXPECT_THAT(result.violations, ElementsAre(HasSubstr("the plan needs 17 GPUs of 16")));
}

TEST(Simulator, APlanWithAMissingPoolIsAnError) {
  const JobSpec job = a_job().batch(8);
  const Plan plan = an_even_plan(job, a_key("us-east1-b", "nvidia-l4"), 1, 1, 1);
  const auto result = Simulator().estimate(job, a_cluster().pool(kZone, "nvidia-l4", 1, 1), plan);
  EXPECT_THAT(result.error().message, HasSubstr("the cluster has no pool us-east1-b/nvidia-l4/ondemand"));
}

TEST(Simulator, RecomputingActivationsTradesTimeForMemory) {
  const JobSpec keeping = a_job().model("opt-1.3b").sequence_length(2048).batch(8);
  const JobSpec recomputing =
      a_job().model("opt-1.3b").sequence_length(2048).batch(8).checkpointing(ActivationCheckpointing::kAlways);
  const Estimate kept = estimate(Simulator(), keeping, an_even_plan(keeping, kPool, 2, 1, 1));
  const Estimate recomputed = estimate(Simulator(), recomputing, an_even_plan(recomputing, kPool, 2, 1, 1));
  EXPECT_GT(recomputed.iteration, kept.iteration);
  EXPECT_LT(recomputed.memory[0].total(), kept.memory[0].total());
}

TEST(Simulator, RecomputingActivationsCostsAForwardPassOfEveryBlock) {
  const JobSpec job = a_job().batch(8).checkpointing(ActivationCheckpointing::kAuto);
  const Simulator simulator(book(a_profile(job, {{1, 1}})), free_network());
  Plan plan = an_even_plan(job, kPool, 1, 1, 1);
  const Seconds kept = estimate(simulator, job, plan).time.compute;
  plan.activation_checkpointing = true;
  EXPECT_NEAR((estimate(simulator, job, plan).time.compute - kept).value(), 8 * 4 * 1e-3, 1e-12) << "four blocks";
}

TEST(Simulator, SequenceParallelismPartitionsTheActivationsThatEveryGpuOfAGroupHeld) {
  const auto activations = [](JobSpec job, int tensor_parallel, const Simulator& simulator) {
    job.training.sequence_parallelism = SequenceParallelism::kNever;
    Plan plan = an_even_plan(job, kPool, 1, 1, 1);
    plan.stages[0].replicas[0].tensor_parallel = tensor_parallel;
    const Bytes without = estimate(simulator, job, plan).memory[0].activations;
    job.training.sequence_parallelism = SequenceParallelism::kAlways;
    plan.sequence_parallelism = true;
    return without - estimate(simulator, job, plan).memory[0].activations;
  };
  const JobSpec job = a_job().batch(8);
  const double hidden = 4.0 * job.training.sequence_length * static_cast<double>(job.model.hidden_size);
  // The partitioned activations are the output of the embedding, four inputs of each of four blocks, and that of the
  // head with its gradient.
  EXPECT_NEAR(activations(job, 2, Simulator()).value(), (1 + 4 * 4 + 2) * hidden / 2, 1);
  EXPECT_NEAR(activations(job, 4, Simulator()).value(), (1 + 4 * 4 + 2) * hidden * 3 / 4, 1);
  EXPECT_EQ(activations(job, 1, Simulator()), Bytes(0));
  const JobSpec recomputing = a_job().batch(8).checkpointing(ActivationCheckpointing::kAlways);
  EXPECT_NEAR(activations(recomputing, 2, Simulator()).value(), (1 + 4 + 2) * hidden / 2, 1) << "inputs of blocks";
}

TEST(Simulator, SequenceParallelismSavesAsMuchOfMeasuredActivationsButDividesThemByNoMoreThanTheGroupSize) {
  JobSpec job = a_job().batch(8).sequence_parallelism();
  Plan plan = an_even_plan(job, kPool, 1, 1, 1);
  plan.stages[0].replicas[0].tensor_parallel = 2;
  const double hidden = 4.0 * job.training.sequence_length * static_cast<double>(job.model.hidden_size);
  const auto activations = [&](double measured_of_layer) {
    ModelProfile profile = a_profile(job, {{1, 2}});
    profile.memory[2].assign(6, {.parameters = 1000, .activations_per_sample = Bytes(measured_of_layer)});
    return estimate(Simulator(book(profile), free_network()), job, plan).memory[0].activations.value();
  };
  // The head keeps its input and the gradient of its input.
  EXPECT_NEAR(activations(100 * hidden), (6 * 100 - (1 + 4 * 4 + 2) / 2.0) * hidden, 1);
  EXPECT_NEAR(activations(hidden), 6 * hidden / 2, 1);
}

TEST(Simulator, ActivationsMeasuredWithSequenceParallelismAreUsedUnchanged) {
  const JobSpec job = a_job().batch(8).sequence_parallelism();
  Plan plan = an_even_plan(job, kPool, 1, 1, 1);
  plan.stages[0].replicas[0].tensor_parallel = 2;
  ModelProfile profile = a_profile(job, {{1, 2}});
  profile.memory[2].assign(6, {.parameters = 1000, .activations_per_sample = Bytes(5000), .output_per_sample = {}});
  const auto notes = [&] { return estimate(Simulator(book(profile), free_network()), job, plan).notes; };
  EXPECT_THAT(notes(), Contains(HasSubstr("measured without sequence parallelism")));
  profile.sequence_parallelism = SequenceParallelism::kAlways;
  EXPECT_THAT(notes(), Not(Contains(HasSubstr("measured without sequence parallelism"))));
  const Estimate result = estimate(Simulator(book(profile), free_network()), job, plan);
  EXPECT_EQ(result.memory[0].activations, Bytes(6 * 5000));
}

TEST(Simulator, AShardedOptimizerDividesItsStateAndUpdateOverTheReplicas) {
  const JobSpec job = a_job().batch(8);
  const Simulator simulator(book(a_profile(job, {{1, 1}})), free_network());
  Plan plan = an_even_plan(job, kPool, 1, 4, 1);
  const Estimate whole = estimate(simulator, job, plan);
  plan.sharded_optimizer = true;
  const Estimate sharded = estimate(simulator, job, plan);
  EXPECT_EQ(sharded.memory[0].optimizer, whole.memory[0].optimizer / 4 * 12 / 8) << "with a copy of the weights";
  EXPECT_EQ(sharded.memory[0].weights, whole.memory[0].weights);
  EXPECT_NEAR(sharded.time.update.value(), whole.time.update.value() / 4, 1e-12);
  EXPECT_NEAR(sharded.time.gradient_sync.value(), whole.time.gradient_sync.value(), 1e-12)
      << "a reduce-scatter and an all-gather move what an all-reduce does";
}

TEST(Simulator, ATiedEmbeddingOnOneGpuIsHeldOnce) {
  const JobSpec job = a_job().batch(8);
  const Estimate whole = estimate(Simulator(), job, an_even_plan(job, kPool, 1, 1, 1));
  const Estimate halves = estimate(Simulator(), job, an_even_plan(job, kPool, 2, 1, 1));
  const double extra =
      halves.memory[0].weights.value() + halves.memory[1].weights.value() - whole.memory[0].weights.value();
  EXPECT_EQ(extra, 4.0 * 256 * 128) << "the second stage has its own copy of 256 tokens of width 128";
}

}  // namespace
}  // namespace sailor
