// Tests answers of the planner that can be derived by hand.
#include "planner/planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simulator/simulator.h"
#include "tests/support/builders.h"
#include "tests/support/networks.h"
#include "tests/support/profiles.h"

namespace sailor {
namespace {

using testing::a_cluster;
using testing::a_job;
using ::testing::AllOf;
using testing::ClusterBuilder;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

Result<PlannedJob> plan(const JobSpec& job, const ClusterState& cluster, const PlanOptions& options = {},
                        std::stop_token stop = {}) {
  static const Simulator simulator;
  return Planner(simulator).plan(job, cluster, options, std::move(stop));
}

std::string complaint(const JobSpec& job, const ClusterState& cluster) {
  const auto planned = plan(job, cluster);
  EXPECT_FALSE(planned);
  EXPECT_EQ(planned.error().code, ErrorCode::kInfeasible);
  return planned.error().message;
}

const std::string kZone = "us-central1-a";

TEST(Planner, AZeroBudgetIsABudget) {
  const JobSpec job = a_job().objective(MaximizeThroughput{Dollars(0), std::nullopt});
  EXPECT_THAT(complaint(job, a_cluster().pool(kZone, "nvidia-l4", 1, 1)),
              HasSubstr("no plan costs at most maxCostPerIteration $0: the nearest found costs $"));
}

TEST(Planner, WithoutGpusItSaysHowManyAreNeeded) {
  EXPECT_THAT(complaint(a_job().min_gpus(4), a_cluster().pool(kZone, "nvidia-l4", 1, 2)),
              HasSubstr("minGpus is 4 and 2 GPUs are free, 2 too few"));
  EXPECT_THAT(complaint(a_job().accelerators({"nvidia-h100-80gb"}), a_cluster().pool(kZone, "nvidia-l4", 1, 2)),
              HasSubstr("of GPUs of accelerator nvidia-h100-80gb none is free (2 others are)"));
  EXPECT_THAT(complaint(a_job().zones({"us-east1-b"}), a_cluster().pool(kZone, "nvidia-l4", 1, 1)),
              HasSubstr("of GPUs in zone us-east1-b of resources.zones none is free (1 other is)"));
  EXPECT_THAT(complaint(a_job(), a_cluster().pool(kZone, "nvidia-l4", 0, 2)),
              HasSubstr("minGpus is 1 and no GPU is free for the job"));
}

TEST(Planner, AModelThatIsTooLargeIsRefusedWithWhatIsMissing) {
  const JobSpec job = a_job().model("llama-3-70b").sequence_length(4096);
  EXPECT_THAT(complaint(job, a_cluster().pool(kZone, "nvidia-tesla-t4", 1, 4)),
              ::testing::AllOf(HasSubstr("no plan fits in memory"), HasSubstr("GiB more than a GPU has")));
}

TEST(Planner, AnErrorAboutAnUnreachableThroughputNamesTheHighestOneFound) {
  EXPECT_THAT(complaint(a_job().objective(MinimizeCost{1e6}), a_cluster().pool(kZone, "nvidia-l4", 1, 2)),
              HasSubstr("no plan reaches minThroughput 1e+06 iterations/s: the fastest found makes "));
}

TEST(Planner, AnIterationThatTakesNoTimeIsRefused) {
  const JobSpec job = a_job().model("gpt2").microbatch_sizes({1});
  ModelProfile profile = testing::a_profile(job, Accelerator("nvidia-l4"), {{1, 1}});
  for (LayerTime& time : profile.times.at({1, 1})) time = {};
  ProfileBook profiles;
  profiles.add(profile);
  const Simulator simulator(std::move(profiles));
  const auto planned = Planner(simulator).plan(job, a_cluster().pool(kZone, "nvidia-l4", 1, 1), PlanOptions{}, {});
  ASSERT_FALSE(planned);
  EXPECT_EQ(planned.error().code, ErrorCode::kInfeasible);
  EXPECT_EQ(planned.error().message, "the profiles give an iteration of 0 s; measure them again");
}

TEST(Planner, AJobThatMayUseOnlyUnknownAcceleratorsIsRefused) {
  const auto both = a_cluster().pool(kZone, "nvidia-abacus", 1, 2).pool(kZone, "nvidia-l4", 1, 2);
  for (const auto& [job, cluster] : {std::pair(a_job().build(), a_cluster().pool(kZone, "nvidia-abacus", 1, 2).build()),
                                     std::pair(a_job().accelerators({"nvidia-abacus"}).build(), both.build())}) {
    const auto planned = plan(job, cluster);
    ASSERT_FALSE(planned);
    EXPECT_EQ(planned.error().code, ErrorCode::kNotFound);
    EXPECT_THAT(
        planned.error().message,
        AllOf(HasSubstr("pool us-central1-a/nvidia-abacus/ondemand is left out, because its accelerator is unknown"),
              HasSubstr("spec.gpu")));
  }
}

TEST(Planner, APoolOfAnUnknownAcceleratorIsLeftOutWithANote) {
  const auto known = a_cluster().pool(kZone, "nvidia-l4", 1, 2);
  const auto planned = plan(a_job(), ClusterBuilder(known).pool(kZone, "nvidia-abacus", 1, 2));
  ASSERT_TRUE(planned) << planned.error().message;
  EXPECT_EQ(planned->plan, plan(a_job(), known).value().plan);
  EXPECT_THAT(planned->estimate.notes, Contains(HasSubstr("pool us-central1-a/nvidia-abacus/ondemand is left out")));
}

TEST(Planner, AJobThatExcludesAnUnknownAcceleratorGetsNoNoteAboutIt) {
  const auto planned = plan(a_job().accelerators({"nvidia-l4"}),
                            a_cluster().pool(kZone, "nvidia-l4", 1, 2).pool(kZone, "nvidia-abacus", 1, 2));
  ASSERT_TRUE(planned) << planned.error().message;
  EXPECT_THAT(planned->estimate.notes, Not(Contains(HasSubstr("nvidia-abacus"))));
}

TEST(Planner, TooFewKnownGpusAreReportedWithThePoolThatIsLeftOut) {
  EXPECT_THAT(
      complaint(a_job().min_gpus(4), a_cluster().pool(kZone, "nvidia-l4", 1, 2).pool(kZone, "nvidia-abacus", 1, 2)),
      AllOf(HasSubstr("minGpus is 4 and 2 GPUs are free"), HasSubstr("nvidia-abacus/ondemand is left out")));
}

TEST(Planner, AnAcceleratorThatAPoolDescribesIsPlannedLikeOneOfTheCatalogue) {
  const auto built_in = plan(a_job(), a_cluster().pool(kZone, "nvidia-l4", 2, 2)).value();
  const auto described =
      plan(a_job(), a_cluster().pool(kZone, "nvidia-abacus", 2, 2).describe("nvidia-abacus", "nvidia-l4"));
  ASSERT_TRUE(described) << described.error().message;
  EXPECT_EQ(described->estimate.iteration, built_in.estimate.iteration);
  EXPECT_EQ(described->estimate.memory, built_in.estimate.memory);
  EXPECT_EQ(described->bound_throughput, built_in.bound_throughput);
}

TEST(Planner, WhatAPoolStatesReplacesTheCatalogue) {
  const JobSpec job = a_job().model("opt-1.3b");
  const auto cluster = a_cluster().pool(kZone, "nvidia-l4", 2, 2);
  ASSERT_TRUE(plan(job, cluster));
  AcceleratorSpec small = *find_accelerator(Accelerator("nvidia-l4"));
  small.memory = gibibytes(2);
  EXPECT_THAT(complaint(job, ClusterBuilder(cluster).describe(small)), HasSubstr("no plan fits in memory"));
}

TEST(Planner, AJobForSpotNodesUsesNoOthers) {
  const auto planned =
      plan(a_job().provisioning(ProvisioningPolicy::kSpot),
           a_cluster().pool(kZone, "nvidia-l4", 2, 1, Provisioning::kSpot).pool(kZone, "nvidia-tesla-a100", 2, 4))
          .value();
  for (const auto& [pool, gpus] : gpus_by_pool(planned.plan)) EXPECT_EQ(pool.provisioning, Provisioning::kSpot);
}

TEST(Planner, WholeNodesArePaidForEvenIfOneGpuIsUsed) {
  const JobSpec job = a_job().batch(1).microbatch_sizes({1}).max_gpus(1);
  const auto part = plan(job, a_cluster().pool(kZone, "nvidia-l4", 1, 8).price(2)).value();
  const auto whole = plan(job, a_cluster().pool(kZone, "nvidia-l4", 1, 8).price(2).whole_nodes()).value();
  EXPECT_NEAR(part.estimate.cost_per_hour.value(), 2, 1e-9);
  EXPECT_NEAR(whole.estimate.cost_per_hour.value(), 16, 1e-9);
}

TEST(Planner, APartlyUsedNodeOfAPoolOfWholeNodesIsNotFree) {
  const ClusterState cluster = a_cluster().pool(kZone, "nvidia-l4", 0, 8).partly_free(7, 1).whole_nodes();
  EXPECT_THAT(complaint(a_job(), cluster), HasSubstr("none is free (7 others are"));
}

TEST(Planner, AJobThatMayUseFewerGpusThanANodeHasIsToldThatItsModelDoesNotFit) {
  const JobSpec job = a_job().model("llama-3-8b").sequence_length(2048).batch(64).max_gpus(1);
  EXPECT_THAT(complaint(job, a_cluster().pool(kZone, "nvidia-tesla-a100", 2, 4)), HasSubstr("GiB"));
}

TEST(Planner, ATensorParallelGroupNeverLeavesItsNode) {
  const JobSpec job = a_job().model("opt-6.7b").sequence_length(2048).batch(64);
  const auto planned = plan(job, a_cluster().pool(kZone, "nvidia-tesla-a100", 16, 2)).value();
  for (const Stage& stage : planned.plan.stages) {
    for (const Replica& replica : stage.replicas) EXPECT_LE(replica.tensor_parallel, 2);
  }
}

TEST(Planner, TensorParallelSizesAreLimitedToThoseOfTheTrainer) {
  const JobSpec job = a_job().model("opt-2.7b").sequence_length(2048).batch(64);
  PlanOptions options;
  options.max_tensor_parallel = 1;
  const auto planned = plan(job, a_cluster().pool(kZone, "nvidia-tesla-a100", 2, 8), options).value();
  for (const Stage& stage : planned.plan.stages) {
    for (const Replica& replica : stage.replicas) EXPECT_EQ(replica.tensor_parallel, 1);
  }
}

TEST(Planner, TensorParallelSizesAreLimitedToTheModelsKeyValueHeads) {
  const JobSpec job = a_job().model("tiny-llama").sequence_length(64).batch(64);  // two key-value heads
  const auto planned = plan(job, a_cluster().pool(kZone, "nvidia-tesla-a100", 2, 8)).value();
  for (const Stage& stage : planned.plan.stages) {
    for (const Replica& replica : stage.replicas) EXPECT_LE(replica.tensor_parallel, 2);
  }
}

TEST(Planner, GradientsNeverCrossRegions) {
  const JobSpec job = a_job().model("opt-1.3b").sequence_length(2048).batch(64);
  const auto planned =
      plan(job,
           a_cluster().pool("us-central1-a", "nvidia-tesla-a100", 2, 4).pool("us-west1-b", "nvidia-tesla-a100", 2, 4))
          .value();
  for (const Stage& stage : planned.plan.stages) {
    for (const Replica& replica : stage.replicas) EXPECT_EQ(replica.pool.zone, stage.replicas.front().pool.zone);
  }
}

TEST(Planner, FasterGpusGetMoreWork) {
  const JobSpec job = a_job().model("opt-350m").sequence_length(2048).batch(1024);
  const auto planned =
      plan(job, a_cluster().pool(kZone, "nvidia-rtx-3090", 1, 4).pool(kZone, "nvidia-titan-rtx", 1, 4)).value();
  std::map<std::string, double> work;  // layers times microbatches
  for (const Stage& stage : planned.plan.stages) {
    for (const Replica& replica : stage.replicas) {
      work[replica.pool.accelerator.str()] += replica.microbatches * (stage.last_layer - stage.first_layer);
    }
  }
  EXPECT_GT(work.at("nvidia-rtx-3090"), 1.5 * work.at("nvidia-titan-rtx"));
}

TEST(Planner, OfEquallyFastPlansTheCheapestIsChosen) {
  const JobSpec job = a_job().model("opt-350m").sequence_length(2048).batch(1024).max_gpus(8);
  const auto planned = plan(job, a_cluster()
                                     .pool(kZone, "nvidia-tesla-a100", 2, 4)
                                     .price(3.67)
                                     .pool(kZone, "nvidia-tesla-a100", 2, 4, Provisioning::kSpot)
                                     .price(1.1))
                           .value();
  EXPECT_NEAR(planned.estimate.cost_per_hour.value(), 8 * 1.1, 1e-9);
}

// Spot nodes fail more often. The expected loss then differs by a fraction of a percent, and the price by two thirds.
TEST(Planner, OfEquallyGoodPlansTheOneOnFewerNodesIsChosen) {
  const std::string other_zone = "us-central1-b";  // its pool comes second
  const ClusterState cluster = a_cluster().pool(kZone, "nvidia-l4", 2, 1).pool(other_zone, "nvidia-l4", 1, 2);
  const Simulator simulator({}, testing::free_network(), trainer_execution_model());
  const auto planned =
      Planner(simulator).plan(a_job().model("opt-350m").sequence_length(2048).batch(64).max_gpus(2), cluster, {}, {});
  ASSERT_TRUE(planned) << planned.error().message;
  EXPECT_EQ(planned->estimate.gpus.begin()->second, 2);
  for (const Stage& stage : planned->plan.stages) {
    for (const Replica& replica : stage.replicas) EXPECT_EQ(replica.pool.zone.str(), other_zone);
  }
}

TEST(Planner, NodesThatFailALittleMoreOftenAreChosenIfTheyCostLess) {
  const JobSpec job =
      a_job().model("opt-350m").sequence_length(2048).batch(1024).max_gpus(64).redundancy(Redundancy::kAuto);
  const auto planned = plan(job, a_cluster()
                                     .pool(kZone, "nvidia-tesla-a100", 32, 4)
                                     .price(3.67)
                                     .pool(kZone, "nvidia-tesla-a100", 32, 4, Provisioning::kSpot)
                                     .price(1.1))
                           .value();
  EXPECT_EQ(planned.estimate.gpus.size(), 1U);
  EXPECT_EQ(planned.estimate.gpus.begin()->first.provisioning, Provisioning::kSpot);
}

TEST(Planner, ACheaperPoolThatIsTooSmallIsUsedAsFarAsItGoes) {
  const JobSpec job = a_job().model("opt-350m").sequence_length(2048).batch(1024).max_gpus(8);
  const auto planned = plan(job, a_cluster()
                                     .pool(kZone, "nvidia-tesla-a100", 2, 4)
                                     .price(3.67)
                                     .pool(kZone, "nvidia-tesla-a100", 1, 4, Provisioning::kSpot)
                                     .price(1.1))
                           .value();
  EXPECT_NEAR(planned.estimate.cost_per_hour.value(), 4 * 1.1 + 4 * 3.67, 1e-9);
}

TEST(Planner, OfPlansThatCostNearlyTheSameTheFastestIsChosen) {
  const JobSpec job = a_job().model("opt-350m").sequence_length(2048).batch(1024).objective(MinimizeCost{});
  const auto planned = plan(job, a_cluster().pool(kZone, "nvidia-tesla-a100", 2, 4)).value();
  EXPECT_EQ(gpu_count(planned.plan), 8) << "eight GPUs cost at most one percent more and are eight times as fast";
  EXPECT_LE(planned.estimate.cost_per_iteration().value(), planned.bound_cost.value() * 1.1);
}

TEST(Planner, AModelThatFitsOnlyInManyStagesIsPlanned) {
  const JobSpec large =
      a_job().model("llama-3-70b").sequence_length(4096).batch(1024).microbatch_sizes({1}).precision(Precision::kBf16);
  const auto planned = plan(large, a_cluster().pool(kZone, "nvidia-tesla-a100", 256, 2));
  ASSERT_TRUE(planned) << planned.error().message;
  EXPECT_GT(planned->plan.stages.size(), 16U);
  EXPECT_GT(gpu_count(planned->plan), 256) << "the GPUs that are left become further replicas";
}

TEST(Planner, AModelOfWhichAGpuHoldsOnlyOneLayerIsPlanned) {
  JobSpec deep = a_job().model("llama-3-70b").blocks(64).sequence_length(2048).batch(64).microbatch_sizes({1});
  deep.model.hidden_size = deep.model.ffn_size = 8192;
  deep.model.heads = deep.model.kv_heads = 64;
  deep.model.vocab_size = 32000;
  const auto planned = plan(deep, a_cluster().pool(kZone, "nvidia-tesla-t4", 80, 1));
  ASSERT_TRUE(planned) << planned.error().message;
  EXPECT_EQ(planned->plan.stages.size(), 66U);
}

TEST(Planner, AModelOfFiveHundredLayersIsPlanned) {
  const JobSpec deep = a_job().model("gpt2").blocks(498).sequence_length(1024).batch(256);
  const auto planned = plan(deep, a_cluster().pool(kZone, "nvidia-tesla-a100", 32, 4));
  ASSERT_TRUE(planned) << planned.error().message;
  EXPECT_LE(planned->bound_ratio(), 1);
}

TEST(Planner, AModelThatCannotFitIsRefusedWithAProof) {
  const JobSpec job = a_job().model("llama-3-70b").sequence_length(4096);
  EXPECT_THAT(complaint(job, a_cluster().pool(kZone, "nvidia-tesla-t4", 1, 4)),
              HasSubstr("the weights and the optimizer's state of llama-3-70b take"));
}

// One GPU more is three percent more work in the same time, which is not worth a move.
TEST(Planner, ARunningPlanIsKeptUnlessAnotherIsClearlyBetter) {
  const JobSpec job = a_job().model("opt-350m").sequence_length(2048).batch(256);
  const ClusterState before = a_cluster().pool(kZone, "nvidia-tesla-a100", 16, 2);
  PlanOptions options;
  options.current = plan(job, before).value().plan;
  const ClusterState one_more = a_cluster().pool(kZone, "nvidia-tesla-a100", 16, 2).partly_free(1, 1);
  EXPECT_EQ(plan(job, one_more, options).value().plan, *options.current);
  const ClusterState many_more = a_cluster().pool(kZone, "nvidia-tesla-a100", 32, 2);
  EXPECT_NE(plan(job, many_more, options).value().plan, *options.current);
}

TEST(Planner, ARunningPlanThatMissesALimitAtANewPriceIsLeftForOneThatKeepsIt) {
  JobSpec job = a_job().model("opt-350m").sequence_length(2048).batch(256);
  job.objective = MaximizeThroughput{.max_cost_per_hour = DollarsPerHour(32)};
  PlanOptions options;
  options.current = plan(job, a_cluster().pool(kZone, "nvidia-tesla-a100", 16, 2).price(1)).value().plan;
  const auto dearer = plan(job, a_cluster().pool(kZone, "nvidia-tesla-a100", 16, 2).price(1.5), options).value();
  EXPECT_EQ(gpu_count(*options.current), 32);
  EXPECT_EQ(to_string(dearer.limit_missed_by_current.value()), "costs $48 an hour, and maxCostPerHour is $32");
  EXPECT_LE(dearer.estimate.cost_per_hour, DollarsPerHour(32));
  const auto cheaper = plan(job, a_cluster().pool(kZone, "nvidia-tesla-a100", 16, 2).price(.5), options).value();
  EXPECT_TRUE(cheaper.keeps_current);
  EXPECT_FALSE(cheaper.limit_missed_by_current);
}

TEST(Planner, ARunningPlanThatIsTooSlowIsLeftForADearerOne) {
  JobSpec job = a_job().model("opt-350m").sequence_length(2048).batch(256);
  job.objective = MinimizeCost{};
  const ClusterState cluster =
      a_cluster().pool(kZone, "nvidia-tesla-a100", 4, 2).price(5).pool(kZone, "nvidia-l4", 1, 1).price(.1);
  PlanOptions options;
  const auto cheapest = plan(job, cluster).value();
  options.current = cheapest.plan;
  job.objective = MinimizeCost{.min_throughput = 1.5 * cheapest.estimate.throughput()};
  const auto faster = plan(job, cluster, options).value();
  EXPECT_THAT(to_string(faster.limit_missed_by_current.value()), HasSubstr("iterations/s, and minThroughput is "));
  EXPECT_GE(faster.estimate.throughput(), 1.5 * cheapest.estimate.throughput());
}

TEST(Planner, ARunningPlanThatLostItsNodesIsNotReturned) {
  const JobSpec job = a_job();
  PlanOptions options;
  options.current = plan(job, a_cluster().pool(kZone, "nvidia-l4", 4, 1)).value().plan;
  const ClusterState fewer = a_cluster().pool(kZone, "nvidia-l4", 1, 1);
  EXPECT_LE(gpu_count(plan(job, fewer, options).value().plan), 1);
}

TEST(Planner, AStopReturnsThePlanFoundSoFarAndSaysSo) {
  std::stop_source source;
  source.request_stop();
  const auto planned = plan(a_job(), a_cluster().pool(kZone, "nvidia-l4", 8, 4), {}, source.get_token());
  ASSERT_TRUE(planned);
  EXPECT_TRUE(planned->search.was_cut_short);
  EXPECT_LT(planned->search.candidates, 10);
}

}  // namespace
}  // namespace sailor
