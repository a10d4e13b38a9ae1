// Plans for clusters in which some GPUs are slower than others of their type.
#include "tests/support/slow_gpus.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "planner/planner.h"
#include "planner/replan/group_placement.h"
#include "simulator/simulator.h"

namespace sailor {
namespace {

using testing::a_cluster;
using testing::a_job;
using testing::a_key;

const PoolKey kKey = a_key("us-central1-a", "nvidia-tesla-a100");

const Simulator& simulator() {
  static const Simulator one({}, google_cloud_network(), trainer_execution_model());
  return one;
}

PlannedJob plan(const JobSpec& job, const ClusterState& cluster, const PlanOptions& options = {}) {
  auto planned = Planner(simulator()).plan(job, cluster, options, {});
  EXPECT_TRUE(planned) << planned.error().message;
  return *std::move(planned);
}

ClusterState slowed(const ClusterState& cluster, const std::vector<double>& slowdowns) {
  return with_slow_nodes(cluster, {testing::a_slow_node(kKey, slowdowns)}).value();
}

int gpus_of_grade(const Plan& plan, int least) {
  int gpus = 0;
  for (const auto& [key, count] : gpus_by_pool(plan)) gpus += key.grade >= least ? count : 0;
  return gpus;
}

TEST(SlowGpus, APassTakesAsMuchLongerAsTheGradeSaysAndNoMoreMemory) {
  const JobSpec job = a_job();
  const ClusterState cluster = slowed(a_cluster().pool("us-central1-a", "nvidia-tesla-a100", 1, 4), {2, 2});
  Plan fast = testing::an_even_plan(job, kKey, 1, 1, 1);
  Plan slow = fast;
  slow.stages.front().replicas.front().pool.grade = grade_of(2);
  const Estimate of_fast = simulator().simulate(job, cluster, fast).value();
  const Estimate of_slow = simulator().simulate(job, cluster, slow).value();
  EXPECT_NEAR(of_slow.iteration / of_fast.iteration, slowdown_of(grade_of(2)), 1e-6);
  EXPECT_EQ(of_slow.memory[0].total(), of_fast.memory[0].total());
}

// Returns a plan of one stage whose replicas, of one GPU each, are as fast as the cluster's GPUs, the fastest first.
Plan a_stage_on_all_gpus(const JobSpec& job, const ClusterState& cluster) {
  Plan plan{job.model.name, job.training.global_batch_size, 1, {{0, job.model.layer_count(), {}}}};
  for (const Pool& pool : cluster.pools) {
    for (int gpu = 0; gpu < pool.free_gpus(); ++gpu) {
      plan.stages.front().replicas.push_back({pool.key, 1, plan.microbatches() / cluster.free_gpus()});
    }
  }
  return plan;
}

TEST(SlowGpus, SumGradientsWithTheOthersOfTheirNodeOverItsLinks) {
  const JobSpec job = a_job().batch(64);
  for (const int nodes : {1, 2, 4}) {
    const ClusterState healthy = a_cluster().pool("us-central1-a", "nvidia-tesla-a100", nodes, 4);
    const auto sync = [&](const ClusterState& cluster) {
      return simulator().simulate(job, cluster, a_stage_on_all_gpus(job, cluster)).value().time.gradient_sync;
    };
    EXPECT_GT(sync(healthy), Seconds(0));
    for (const std::vector<double>& slowdowns : {std::vector{1.25}, {2, 2}, {1.25, 2}}) {
      // The last pass of a slow GPU is longer, so it may hide more of the sum.
      EXPECT_LE(sync(slowed(healthy, slowdowns)) / sync(healthy), 1 + 1e-6) << nodes << " nodes";
    }
  }
}

TEST(SlowGpus, ExchangeMessagesWithTheOthersOfTheirNodeOverItsLinks) {
  const JobSpec job = a_job().batch(64);
  const ClusterState healthy = a_cluster().pool("us-central1-a", "nvidia-tesla-a100", 1, 2);
  Plan plan = testing::an_even_plan(job, kKey, 2, 1, 1);
  const Seconds inside = simulator().simulate(job, healthy, plan).value().time.point_to_point;
  plan.stages.back().replicas.front().pool.grade = grade_of(1.25);
  EXPECT_NEAR(simulator().simulate(job, slowed(healthy, {1.25}), plan).value().time.point_to_point / inside, 1, 1e-6);
}

TEST(SlowGpus, AreLostWithTheOthersOfTheirNode) {
  const JobSpec job = a_job().batch(64).redundancy(Redundancy::kAuto);
  const ClusterState node = slowed(a_cluster().pool("us-central1-a", "nvidia-tesla-a100", 1, 4), {2});
  Plan plan = a_stage_on_all_gpus(job, node);
  EXPECT_EQ(simulator().simulate(job, node, plan).value().expected_loss.exposed_stages, std::vector{0});
  plan.peer_replicas = true;  // of which no other node could take one
  EXPECT_EQ(simulator().simulate(job, node, plan).value().expected_loss.exposed_stages, std::vector{0});
}

TEST(SlowGpus, ArePlacedWithTheOthersOfTheirNodeIfAllFitThere) {
  const PoolKey slow{kKey.zone, kKey.accelerator, kKey.provisioning, grade_of(2)};
  const std::vector<NodeRoom> rooms{
      {kKey, 4, 0, 7}, {kKey, 3, 1, 8}, {slow, 1, 1, 8}, {kKey, 2, 1, 9}, {slow, 2, 1, 9}};
  const auto nodes_of = [&](int fast_gpus, int slow_gpus) {
    Plan plan = testing::an_even_plan(a_job().batch(64), kKey, 1, fast_gpus, 1);
    for (int gpu = 0; gpu < slow_gpus; ++gpu) plan.stages.front().replicas.push_back({slow, 1, 1});
    std::set<std::size_t> nodes;
    const std::vector<PlacedGroup> placed = place_groups(plan, rooms).value();
    for (const PlacedGroup& group : placed) nodes.insert(rooms[group.node].of_node);
    return nodes;
  };
  EXPECT_EQ(nodes_of(3, 1), std::set<std::size_t>{8}) << "although the job has a pod on another node with room";
  EXPECT_EQ(nodes_of(2, 2), std::set<std::size_t>{9});
  EXPECT_EQ(nodes_of(2, 1), std::set<std::size_t>{9}) << "which fits most tightly";
  EXPECT_EQ(nodes_of(4, 0), std::set<std::size_t>{7});
  EXPECT_EQ(nodes_of(4, 2), (std::set<std::size_t>{7, 9})) << "as no node has room for all";
}

TEST(SlowGpus, OnASmallNodeCostLittleMoreThanTheirShare) {
  const JobSpec job = a_job().batch(256).precision(Precision::kBf16);
  const ClusterState healthy = a_cluster().pool("us-central1-a", "nvidia-tesla-a100", 1, 4);
  const Seconds without = plan(job, healthy).estimate.iteration;
  for (const double slowdown : {1.25, 2.0}) {
    const double optimum = 4 / (3 + 1 / slowdown_of(grade_of(slowdown)));
    EXPECT_LE(plan(job, slowed(healthy, {slowdown})).estimate.iteration / without, 1.03 * optimum) << slowdown;
  }
}

// Of 70 billion parameters, a slow GPU can hold the state of few layers.
TEST(SlowGpus, MakeNoPlanSlowerThanItIsWithoutThem) {
  const PoolKey key = a_key("us-central1-a", "nvidia-a100-80gb");
  const ClusterState healthy = a_cluster().pool("us-central1-a", "nvidia-a100-80gb", 4, 8);
  const JobSpec job = a_job().model("llama-3-70b").sequence_length(4096).batch(64).precision(Precision::kBf16);
  const Simulator by_default({}, google_cloud_network(), default_execution_model());
  const auto seconds = [&](int grade) {
    const ClusterState cluster = with_slow_nodes(healthy, {{key, {grade}}}).value();
    return Planner(by_default).plan(job, cluster, {}, {}).value().estimate.iteration;
  };
  EXPECT_LE(seconds(grade_of(1.3)) / seconds(kUnusableGrade), 1);
}

TEST(SlowGpus, PlansOfThePapersSpaceHaveItsShape) {
  const auto planned = plan(testing::a_large_job(testing::large_shapes().front()),
                            testing::slowed_gpus(testing::slow_situations().front()), {.space = PlanSpace::kPaper});
  const std::vector<Stage>& stages = planned.plan.stages;
  const auto layers_of = [](const Stage& stage) { return stage.last_layer - stage.first_layer; };
  const auto [fewest, most] = std::ranges::minmax(stages, {}, layers_of);
  EXPECT_LE(layers_of(most) - layers_of(fewest), 1);
  for (const Stage& stage : stages) EXPECT_EQ(stage.replicas.size(), stages.front().replicas.size());
}

TEST(SlowGpus, OfTwoReplicasTheSlowOneGetsFewerMicrobatches) {
  const JobSpec job = a_job().batch(64).microbatch_sizes({1});
  const auto planned = plan(job, slowed(a_cluster().pool("us-central1-a", "nvidia-tesla-a100", 1, 2), {1.9}));
  ASSERT_EQ(planned.plan.stages.size(), 1U);
  ASSERT_EQ(planned.plan.stages[0].replicas.size(), 2U);
  const auto& replicas = planned.plan.stages[0].replicas;
  EXPECT_GT(replicas[0].microbatches, 1.5 * replicas[1].microbatches);
  EXPECT_EQ(replicas[1].pool.grade, grade_of(1.9));
}

TEST(SlowGpus, AGpuThatIsTooSlowToHelpIsNotUsed) {
  const JobSpec job = a_job().batch(4).microbatch_sizes({1});
  const auto planned = plan(job, slowed(a_cluster().pool("us-central1-a", "nvidia-tesla-a100", 1, 4), {12}));
  EXPECT_EQ(gpus_of_grade(planned.plan, 1), 0);
}

TEST(SlowGpus, ANodeIsPaidForOnceWhateverItsGrades) {
  const JobSpec job = a_job().batch(64).microbatch_sizes({1});
  const ClusterState cluster =
      slowed(a_cluster().pool("us-central1-a", "nvidia-tesla-a100", 2, 4).price(1).whole_nodes(), {1.5, 3});
  Plan plan = testing::an_even_plan(job, kKey, 1, 3, 1);
  std::vector<Replica>& replicas = plan.stages.front().replicas;
  const auto price_of = [&](std::vector<int> grades) {
    for (std::size_t i = 0; i < replicas.size(); ++i) replicas[i].pool.grade = grades[i];
    const Estimate estimate = simulator().simulate(job, cluster, plan).value();
    return estimate.cost_per_iteration().value() / estimate.iteration.value() * 3600;
  };
  EXPECT_NEAR(price_of({0, 0, grade_of(1.5)}), 4, 1e-6) << "the two others of its node suffice";
  EXPECT_NEAR(price_of({0, 0, 0}), 8, 1e-6) << "one on the other node";
  EXPECT_NEAR(price_of({0, grade_of(1.5), grade_of(3)}), 4, 1e-6) << "three grades of one node";
}

TEST(SlowGpus, ARunningPlanIsAdaptedWhenOneOfItsGpusBecomesSlow) {
  const JobSpec job = a_job().batch(64).microbatch_sizes({1});
  const ClusterState healthy = a_cluster().pool("us-central1-a", "nvidia-tesla-a100", 2, 4);
  PlanOptions options;
  options.current = plan(job, healthy).plan;
  const ClusterState cluster = slowed(healthy, {4});
  const auto adapted = plan(job, cluster, options);
  const auto fresh = plan(job, cluster);
  EXPECT_LE(adapted.estimate.iteration.value(), 1.05 * fresh.estimate.iteration.value());
}

// Two tensor-parallel groups of two, one with a slow GPU. Its fast GPU waits for the slow one.
struct HalfSlowJob {
  JobSpec job = a_job().batch(64).microbatch_sizes({1});
  ClusterState healthy = a_cluster().pool("us-central1-a", "nvidia-tesla-a100", 1, 4).whole_nodes();
  ClusterState cluster;
  PlanOptions options;

  explicit HalfSlowJob(double slowdown) : cluster(slowed(healthy, {slowdown})) {
    Plan running = testing::an_even_plan(job, kKey, 1, 2, 1);
    for (Replica& replica : running.stages.front().replicas) replica.tensor_parallel = 2;
    running.stages.front().replicas.back().pool.grade = grade_of(slowdown);
    options.current = running;
    options.current_cluster = slowed(healthy, {slowdown, slowdown});
  }
};

TEST(SlowGpus, ARunningPlanIsPricedAtTheSpeedOfItsSlowestGpus) {
  HalfSlowJob world(4);
  world.options.expected_lifetime = Seconds(2);  // too short for any pause
  const auto planned = plan(world.job, world.cluster, world.options);
  EXPECT_TRUE(planned.keeps_current);
  EXPECT_EQ(planned.plan, *world.options.current);
  EXPECT_EQ(planned.pause, Seconds(0));
  Plan healthy = *world.options.current;
  for (Replica& replica : healthy.stages.front().replicas) replica.pool.grade = 0;
  const auto before = simulator().simulate(world.job, world.healthy, healthy).value();
  EXPECT_GT(planned.estimate.iteration.value(), 3 * before.iteration.value());
  EXPECT_NEAR(planned.estimate.cost_per_iteration().value() / planned.estimate.iteration.value(),
              before.cost_per_iteration().value() / before.iteration.value(), 1e-9)
      << "all GPUs of the node are paid for";
}

TEST(SlowGpus, ARunningPlanWithASlowGpuIsLeftIfAnotherIsBetterByFivePercent) {
  const HalfSlowJob world(4);
  const auto planned = plan(world.job, world.cluster, world.options);
  EXPECT_FALSE(planned.keeps_current);
  EXPECT_GT(planned.pause, Seconds(2));
  const Estimate as_is =
      simulator().simulate(world.job, *world.options.current_cluster, *world.options.current).value();
  EXPECT_LT(planned.estimate.iteration.value(), 0.95 * as_is.iteration.value());
}

// A step takes little longer than if the work could be divided at will. That is not so in C and D, where three nodes
// lose their groups of eight; nor is a plan for F always better than dropping its slow GPUs. docs/stragglers.md has the
// figures of all situations.
TEST(SlowGpus, LargeModelsLoseLittleMoreThanTheSlowGpusShare) {
  for (const testing::LargeShape& shape : testing::large_shapes()) {
    const JobSpec job = testing::a_large_job(shape);
    const double healthy = plan(job, testing::healthy_gpus(64)).estimate.iteration.value();
    for (const testing::SlowSituation& situation : testing::slow_situations()) {
      if (situation.gpus != 64 || situation.nodes.size() > 2) continue;
      const double ratio = plan(job, testing::slowed_gpus(situation)).estimate.iteration.value() / healthy;
      EXPECT_LE(ratio, 1.08 * situation.optimum()) << shape.name << ", situation " << situation.name;
      if (situation.name == "E") {
        EXPECT_LT(ratio, situation.without_slow_gpus()) << shape.name << ", situation " << situation.name;
      }
    }
  }
}

}  // namespace
}  // namespace sailor
