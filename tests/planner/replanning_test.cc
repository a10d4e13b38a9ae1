// Tests when a running plan is repaired after a loss, and when it is kept because moving costs more than it gains.
#include <limits>

#include <gtest/gtest.h>

#include "planner/planner.h"
#include "planner/replan/migration_cost.h"
#include "planner/replan/repair.h"
#include "simulator/simulator.h"
#include "tests/support/builders.h"

namespace sailor {
namespace {

using testing::a_cluster;
using testing::a_job;
using testing::a_key;
using testing::an_even_plan;

const std::string kZone = "us-central1-a";

const Simulator& simulator() {
  static const Simulator one;
  return one;
}

PlannedJob plan(const JobSpec& job, const ClusterState& cluster, const PlanOptions& options = {}) {
  return Planner(simulator()).plan(job, cluster, options, {}).value();
}

PlanningProblem a_problem(const JobSpec& job, const ClusterState& cluster) {
  PlanningProblem problem{.job = job, .cluster = cluster, .tensor_parallel_sizes = {1, 2}};
  problem.set_estimator(simulator().prepare(job, problem.cluster, problem.tensor_parallel_sizes).value());
  return problem;
}

JobSpec opt_350m() { return a_job().model("opt-350m").sequence_length(2048).batch(1024); }

ClusterState mixed(int a100_nodes, int v100_nodes) {
  return a_cluster().pool(kZone, "nvidia-tesla-a100", a100_nodes, 4).pool(kZone, "nvidia-tesla-v100", v100_nodes, 4);
}

// A job moves between plans on four nodes with four A100 each.
class MigrationCostOf4x4 : public ::testing::Test {
 protected:
  [[nodiscard]] GroupedPlan even(int stages, int replicas, int tensor_parallel) const {
    return grouped(an_even_plan(job_, cluster_.pools[0].key, stages, replicas, tensor_parallel), cluster_).value();
  }

  const JobSpec job_ = opt_350m();
  const ClusterState cluster_ = a_cluster().pool(kZone, "nvidia-tesla-a100", 4, 4);
  const PlanningProblem problem_ = a_problem(job_, cluster_);
};

TEST_F(MigrationCostOf4x4, MigratingToTheRunningPlanTakesNoTime) {
  const MigrationCost migration(problem_, even(2, 8, 1), cluster_);
  EXPECT_EQ(migration.pause_for(even(2, 8, 1)), Seconds(0));
  EXPECT_EQ(migration.bytes_to_move(even(2, 8, 1)), Bytes(0));
}

TEST_F(MigrationCostOf4x4, GpusThatKeepTheirLayersReceiveNothing) {
  const MigrationCost migration(problem_, even(2, 8, 1), cluster_);
  EXPECT_EQ(migration.bytes_to_move(even(2, 4, 1)), Bytes(0));
  EXPECT_EQ(migration.bytes_to_move(even(2, 8, 2)), Bytes(0));
}

// The whole model is 25 layers on one stage; 12 or 13 of them are there already.
TEST_F(MigrationCostOf4x4, AGpuReceivesTheStateOfItsNewLayers) {
  const MigrationCost migration(problem_, even(2, 1, 1), cluster_);
  Bytes first_half(0);
  Bytes second_half(0);
  for (int layer = 0; layer < problem_.layers(); ++layer) {
    (layer < 13 ? first_half : second_half) += problem_.estimator->state_of_layer(layer);
  }
  EXPECT_DOUBLE_EQ(migration.bytes_to_move(even(1, 1, 1)).value(), std::min(first_half, second_half).value());
  EXPECT_DOUBLE_EQ(migration.bytes_to_move(even(1, 2, 1)).value(), (first_half + second_half).value());
}

TEST(MigrationCost, TakesLongerOverSlowerLinks) {
  const JobSpec job = opt_350m();
  const ClusterState cluster = a_cluster()
                                   .pool(kZone, "nvidia-tesla-a100", 2, 4)
                                   .pool("us-central1-b", "nvidia-tesla-a100", 2, 4)
                                   .pool("europe-west4-a", "nvidia-tesla-a100", 2, 4);
  const PlanningProblem problem = a_problem(job, cluster);
  const auto at = [&](const std::string& zone) {
    return grouped(an_even_plan(job, a_key(zone, "nvidia-tesla-a100", Provisioning::kOnDemand), 2, 2, 1), cluster)
        .value();
  };
  const MigrationCost migration(problem, at(kZone), cluster);
  EXPECT_GT(migration.pause_for(at("us-central1-b")), Seconds(2));
  EXPECT_GT(migration.pause_for(at("europe-west4-a")), migration.pause_for(at("us-central1-b")) * 1.5);
}

TEST(MigrationCost, APauseIsSpreadOverTheRemainingTime) {
  EXPECT_DOUBLE_EQ(value_with_pause(3, Seconds(0), Seconds(100)), 3);
  EXPECT_DOUBLE_EQ(value_with_pause(3, Seconds(25), Seconds(100)), 4);
}

TEST(MigrationCost, OfPausesThatTakeTheWholeLifetimeTheShorterIsBetter) {
  const double nearly = value_with_pause(3, Seconds(100 * (1 - 1e-15)), Seconds(100));
  EXPECT_GT(value_with_pause(3, Seconds(100), Seconds(100)), nearly * 1e9);
  EXPECT_GT(value_with_pause(1, Seconds(13), Seconds(1)), value_with_pause(2, Seconds(2), Seconds(1)));
  EXPECT_LT(value_with_pause(1, Seconds(13), Seconds(1e-300)), std::numeric_limits<double>::infinity());
}

TEST(Repair, TheSurvivingPartFitsAndLosesNoMoreThanNecessary) {
  const JobSpec job = opt_350m();
  const ClusterState before = mixed(8, 8);
  const Plan running = plan(job, before).plan;
  const ClusterState after = mixed(7, 8);
  const PlanningProblem problem = a_problem(job, after);
  const Draft surviving = surviving_part(running, problem);
  int gpus = 0;
  for (const GroupedStage& stage : surviving.stages) {
    for (const ReplicaGroup& group : stage.groups) gpus += group.gpus();
  }
  EXPECT_LE(gpus, 60);
  EXPECT_GE(gpus, gpu_count(running) - 4 - 1) << "a group of two may have to go for the last single GPU";
}

TEST(Repair, AStageThatLostAllItsReplicasGoesToItsNeighbours) {
  const ReplicaGroups two{draft_replicas(0, 1, 2)};
  const ReplicaGroups three{draft_replicas(0, 1, 3)};
  const Draft surviving{1, {}, {{{0, 8}, two}, {{8, 16}, {}}, {{16, 25}, three}}};
  const std::vector<Draft> expected{{1, {}, {{{0, 8}, two}, {{8, 25}, three}}},
                                    {1, {}, {{{0, 16}, two}, {{16, 25}, three}}}};
  EXPECT_EQ(repairs(surviving), expected);
  EXPECT_TRUE(repairs({1, {}, {{{0, 25}, {}}}}).empty());
}

TEST(Repair, AfterTheLossOfANodeARepairIsNearlyAsGoodAsAFullSearchForAFractionOfTheWork) {
  const JobSpec job = opt_350m();
  PlanOptions options;
  options.current = plan(job, mixed(16, 16)).plan;
  for (const ClusterState& after : {mixed(15, 16), mixed(16, 15)}) {
    const PlannedJob fresh = plan(job, after);
    options.scope = SearchScope::kNearCurrent;
    const PlannedJob near = plan(job, after, options);
    EXPECT_TRUE(near.estimate.fits());
    EXPECT_TRUE(resource_violations(near.plan, job, after).empty());
    EXPECT_LT(near.estimate.iteration, fresh.estimate.iteration * 1.1);
    EXPECT_LT(near.search.candidates, 1100);
    EXPECT_LT(near.pause, Seconds(60));
    EXPECT_LE(near.bound_ratio(), 1);
  }
}

TEST(Repair, IfNoPartOfThePlanSurvivesAFullSearchRuns) {
  const JobSpec job = a_job();
  PlanOptions options;
  options.scope = SearchScope::kNearCurrent;
  options.current = plan(job, a_cluster().pool(kZone, "nvidia-l4", 2, 1)).plan;
  const ClusterState other = a_cluster().pool("us-west1-b", "nvidia-tesla-t4", 2, 1);
  EXPECT_EQ(plan(job, other, options).plan, plan(job, other).plan);
}

TEST(Replanning, AGainThatComesTooLateIsNotWorthTheMove) {
  const JobSpec job = opt_350m();
  PlanOptions options;
  options.current = plan(job, a_cluster().pool(kZone, "nvidia-tesla-a100", 4, 4)).plan;
  const ClusterState more = a_cluster().pool(kZone, "nvidia-tesla-a100", 8, 4);
  const PlannedJob moved = plan(job, more, options);
  EXPECT_NE(moved.plan, *options.current);
  EXPECT_GT(moved.pause, Seconds(0));
  options.expected_lifetime = moved.pause * 1.5;
  const PlannedJob kept = plan(job, more, options);
  EXPECT_EQ(kept.plan, *options.current);
  EXPECT_EQ(kept.pause, Seconds(0));
}

TEST(Replanning, OfEquallyGoodPlansTheOneThatMovesLessIsChosen) {
  const JobSpec job = a_job().model("opt-350m").sequence_length(2048).batch(64).max_gpus(4);
  for (const std::string& zone : {std::string("us-central1-a"), std::string("us-central1-b")}) {
    PlanOptions options;
    JobSpec unlimited = job;
    unlimited.resources.max_gpus.reset();
    options.current = plan(unlimited, a_cluster().pool(zone, "nvidia-tesla-a100", 2, 4)).plan;  // 8 GPUs: too many now
    const PlannedJob next = plan(
        job,
        a_cluster().pool("us-central1-a", "nvidia-tesla-a100", 2, 4).pool("us-central1-b", "nvidia-tesla-a100", 2, 4),
        options);
    for (const auto& [pool, gpus] : next.estimate.gpus) EXPECT_EQ(pool.zone, Zone(zone));
  }
}

TEST(Replanning, ARunningPlanOfAnotherJobIsIgnored) {
  const ClusterState cluster = a_cluster().pool(kZone, "nvidia-tesla-a100", 2, 4);
  PlanOptions options;
  options.current = plan(a_job().model("opt-125m").batch(64), cluster).plan;
  const JobSpec job = a_job().model("opt-350m").sequence_length(2048).batch(64);
  const PlannedJob planned = plan(job, cluster, options);
  EXPECT_EQ(planned.plan, plan(job, cluster).plan);
  EXPECT_EQ(planned.pause, Seconds(0));
}

}  // namespace
}  // namespace sailor
