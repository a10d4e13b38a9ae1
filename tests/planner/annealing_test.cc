// Tests the parts of the search that are random or use threads: changes of drafts, annealing, and whole answers.
#include "planner/search/annealing.h"

#include <cmath>
#include <filesystem>
#include <thread>

#include <gtest/gtest.h>
#include <sched.h>

#include "core/manifest/files.h"
#include "planner/planner.h"
#include "planner/search/finalists.h"
#include "planner/search/search.h"
#include "simulator/simulator.h"
#include "tests/support/builders.h"

namespace sailor {
namespace {

using testing::a_cluster;
using testing::a_job;
using testing::an_even_plan;

const std::string kZone = "us-central1-a";

// OPT-350M on 64 GPUs of two types, in four equal stages of A100.
class Annealed : public ::testing::Test {
 protected:
  Annealed() {
    problem_.set_estimator(simulator_.prepare(job_, problem_.cluster, problem_.tensor_parallel_sizes).value());
  }

  [[nodiscard]] PlanCandidate start() const {
    const auto plan = grouped(an_even_plan(job_, problem_.cluster.pools[0].key, 4, 8, 1), problem_.cluster).value();
    const auto estimate = problem_.estimator->simulated_below({}, plan).value();
    return {draft_of(plan), plan, estimate, goals_.simulated.score_of(estimate, plan.gpus())};
  }
  [[nodiscard]] PlanCandidate annealed(std::uint64_t seed) const {
    Annealing annealing(problem_, goals_, start(), {.seed = seed});
    annealing.run({.passes = 400'000, .proposals = 2'000}, {});
    return annealing.best();
  }

  const Simulator simulator_;
  const JobSpec job_ = a_job().model("opt-350m").sequence_length(2048).batch(256);
  PlanningProblem problem_{
      .job = job_,
      .cluster = a_cluster().pool(kZone, "nvidia-tesla-a100", 8, 4).pool(kZone, "nvidia-tesla-v100", 8, 4),
      .tensor_parallel_sizes = {1, 2, 4}};
  const SearchGoals goals_{Goal::of(job_), Goal::of(job_)};
};

TEST_F(Annealed, ARandomChangeKeepsEveryLayerInOneStageWithReplicas) {
  RandomNumbers random(1);
  Draft draft = start().draft;
  int changed = 0;
  for (int i = 0; i < 20'000; ++i) {
    Draft next = draft;
    if (!change_randomly(next, problem_, random)) continue;
    ++changed;
    EXPECT_NE(next, draft) << "change " << i;
    int layer = 0;
    for (const GroupedStage& stage : next.stages) {
      ASSERT_EQ(stage.layers.first, layer) << "change " << i;
      ASSERT_GT(stage.layers.size(), 0) << "change " << i;
      ASSERT_GT(stage.replicas(), 0) << "change " << i;
      layer = stage.layers.last;
    }
    ASSERT_EQ(layer, problem_.layers()) << "change " << i;
    draft = i % 50 == 0 ? start().draft : next;
  }
  EXPECT_GT(changed, 10'000);
}

TEST_F(Annealed, APlanBecomesFasterAndItsFiguresAreThoseOfTheSimulation) {
  const PlanCandidate best = annealed(1);
  EXPECT_LT(best.score.value, start().score.value * 0.95);
  EXPECT_EQ(problem_.estimator->simulated_below({}, best.plan).value().iteration, best.estimate.iteration);
  EXPECT_TRUE(keeps_to_resources(best.plan, problem_));
  EXPECT_LE(best.estimate.memory_excess, Bytes(0));
}

TEST_F(Annealed, EqualSeedsGiveEqualPlans) { EXPECT_EQ(annealed(1).plan, annealed(1).plan); }

// Here annealing improves what local search finds.
TEST(Search, AnnealsNoPlanThatAnotherSearchHasAnnealed) {
  const Simulator simulator({}, google_cloud_network(), default_execution_model());
  const JobSpec job = a_job().model("opt-350m").sequence_length(2048).batch(1024);
  PlanningProblem problem{
      .job = job,
      .cluster = a_cluster().pool(kZone, "nvidia-tesla-a100", 2, 4).pool(kZone, "nvidia-tesla-v100", 6, 4),
      .tensor_parallel_sizes = {1, 2, 4}};
  problem.set_estimator(simulator.prepare(job, problem.cluster, problem.tensor_parallel_sizes).value());
  const std::vector<GroupTimeTable> tables = group_time_tables(problem);
  Search first(problem, {}, nullptr);
  first.run(PlanSpace::kFlow, tables);
  Search other(problem, {}, nullptr);
  other.skip_annealed(first.annealed_plans());
  other.run(PlanSpace::kFlow, tables);
  EXPECT_GT(other.best()->score.value, first.best()->score.value);
}

// Each stage has one layer and one replica.
PlanCandidate a_candidate(int stages, int tensor_parallel, double value) {
  PlanCandidate candidate{.score = {.value = value}};
  for (int i = 0; i < stages; ++i) {
    candidate.plan.stages.push_back({.layers = {i, i + 1}, .groups = {}});
    candidate.plan.stages.back().add({.pool = 0, .tensor_parallel = tensor_parallel, .microbatches = 8, .count = 1});
  }
  return candidate;
}

TEST(Outline, TellsNumbersOfStagesAndTensorParallelSizesApart) {
  const auto groups =
      by_outline({a_candidate(4, 1, 1.0), a_candidate(4, 2, 1.1), a_candidate(4, 1, 1.2), a_candidate(2, 1, 1.3)});
  std::vector<std::vector<double>> values;
  for (const auto& [outline, candidates] : groups) {
    values.emplace_back();
    for (const PlanCandidate& each : candidates) values.back().push_back(each.score.value);
  }
  EXPECT_EQ(values, (std::vector<std::vector<double>>{{1.0, 1.2}, {1.1}, {1.3}}));
}

GroupedPlan a_plan_on(std::initializer_list<int> pools) {
  GroupedPlan plan{.microbatch_size = 1, .microbatches = 8, .stages = {{.layers = {0, 8}, .groups = {}}}};
  for (const int pool : pools) plan.stages[0].add({.pool = pool, .microbatches = 4, .count = 1});
  return plan;
}

TEST(AnnealedPlans, OfASearchWithSomePoolsAreThoseOnThesePoolsInItsNumbers) {
  AnnealedPlans plans;
  EXPECT_TRUE(plans.add(a_plan_on({1, 3})));
  EXPECT_TRUE(plans.add(a_plan_on({0, 1})));
  EXPECT_FALSE(plans.add(a_plan_on({1, 3})));
  const std::vector<int> pools{3, 2, 1};
  AnnealedPlans part = plans.with_pools(pools);
  EXPECT_FALSE(part.add(a_plan_on({0, 2})));
  EXPECT_TRUE(part.add(a_plan_on({0, 1})));
  plans.add(part, pools);
  EXPECT_FALSE(plans.add(a_plan_on({2, 3})));
  EXPECT_TRUE(plans.add(a_plan_on({2})));
}

using SeedsAndCalls = std::pair<std::vector<Draft>, int>;

// Returns the even seeds if all that take `too_long` are pruned, and how often pruning was asked for.
SeedsAndCalls even_seeds(const PlanningProblem& problem, double too_long, Pruning pruning) {
  SeedsAndCalls found;
  const auto prune = [&](const EvenSeedBound& bound) {
    ++found.second;
    return bound.seconds >= too_long ? pruning : Pruning::kNone;
  };
  visit_even_seeds(problem, {}, prune, [&](const Draft& draft) { found.first.push_back(draft); });
  return found;
}

TEST_F(Annealed, SeedsWithFewerReplicasThanOnesThatTakeTooLongAreLeftOutUnasked) {
  const double too_long = start().estimate.iteration.value() / 2;
  const auto [seeds, calls] = even_seeds(problem_, too_long, Pruning::kThese);
  const auto [same_seeds, fewer_calls] = even_seeds(problem_, too_long, Pruning::kNoFaster);
  EXPECT_FALSE(seeds.empty());
  EXPECT_EQ(same_seeds, seeds);
  EXPECT_LT(fewer_calls, calls / 2) << calls;
}

GroupedStage a100(int first, int last, int replicas) { return {{first, last}, {draft_replicas(0, 1, replicas)}}; }

// Random changes of a good plan on 512 GPUs, with measured profiles.
TEST(FastEstimates, AreNearerToTheSimulationThanThoseOfTheEstimatorNearGoodPlans) {
  const std::filesystem::path folder = std::filesystem::path(SAILOR_SOURCE_DIR) / "../shared/data/sailor-artifact";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << folder << " is absent";
  NetworkModel network = google_cloud_network();
  network.measured = read_network_measurements(folder).value();
  const Simulator simulator(read_profiles(folder).value(), std::move(network), trainer_execution_model());
  const JobSpec job = a_job().model("opt-350m").sequence_length(2048).batch(1024).microbatch_sizes({1});
  PlanningProblem problem{
      .job = job, .cluster = a_cluster().pool(kZone, "nvidia-tesla-a100", 128, 4), .tensor_parallel_sizes = {1, 2, 4}};
  problem.set_estimator(simulator.prepare(job, problem.cluster, problem.tensor_parallel_sizes).value());
  const Draft start{1, {}, {a100(0, 3, 48), a100(3, 11, 128), a100(11, 17, 128), a100(17, 23, 128), a100(23, 26, 80)}};
  const GroupedPlan good = partitioned(start, problem, PlanSpace::kFlow).value();
  const Seconds most = problem.estimator->fast_estimate_below({}, good).value().iteration * 1.2;
  FastEstimates estimates(problem);
  RandomNumbers random(1);
  Draft draft = start;
  double plain_error = 0;
  double error = 0;
  for (int samples = 0; samples < 200;) {
    Draft next = draft;
    if (!change_randomly(next, problem, random)) continue;
    const auto plan = partitioned(next, problem, PlanSpace::kFlow);
    if (!plan || !keeps_to_resources(*plan, problem)) continue;
    const EstimateSummary plain = problem.estimator->fast_estimate_below({}, *plan).value();
    if (plain.memory_excess > Bytes(0) || plain.iteration > most) continue;
    const Seconds simulated = problem.estimator->simulated_below({}, *plan).value().iteration;
    plain_error += std::pow(plain.iteration / simulated - 1, 2);
    error += std::pow(estimates.below({}, *plan).value().iteration / simulated - 1, 2);
    draft = ++samples % 20 == 0 ? start : next;
  }
  EXPECT_LT(std::sqrt(error), std::sqrt(plain_error) * 0.8) << "plain " << std::sqrt(plain_error / 200);
}

// Random changes of a plan, with cutoffs just above and just below the time and the cost of each.
TEST_F(Annealed, AFastEstimateIsMadeExactlyOfPlansBelowTheCutoff) {
  RandomNumbers random(1);
  const Draft first = start().draft;
  for (int samples = 0; samples < 300;) {
    Draft draft = first;
    bool is_changed = true;
    for (int i = 0; i < 3 && is_changed; ++i) is_changed = change_randomly(draft, problem_, random);
    if (!is_changed) continue;
    const auto plan = partitioned(draft, problem_, PlanSpace::kFlow);
    if (!plan) continue;
    ++samples;
    const EstimateSummary whole = problem_.estimator->fast_estimate_below({}, *plan).value();
    const auto below = [&](const Cutoff& cutoff) { return problem_.estimator->fast_estimate_below(cutoff, *plan); };
    for (const double factor : {0.7, 0.99, 1.0}) {
      EXPECT_FALSE(below({.iteration = whole.iteration * factor}));
      EXPECT_FALSE(below({.cost = whole.cost * factor}));
    }
    for (const Cutoff& cutoff :
         {Cutoff{.iteration = whole.iteration * 1.000001}, Cutoff{.cost = whole.cost * 1.000001}}) {
      ASSERT_TRUE(below(cutoff));
      EXPECT_EQ(below(cutoff)->iteration, whole.iteration);
      EXPECT_EQ(below(cutoff)->cost, whole.cost);
    }
  }
}

TEST_F(Annealed, TheEstimateOfAnEvenPlanIsNotCorrected) {
  const GroupedPlan plan = start().plan;
  EXPECT_EQ(FastEstimates(problem_).below({}, plan).value().iteration,
            problem_.estimator->fast_estimate_below({}, plan).value().iteration);
}

// Threads inherit the processors of the thread that starts them.
TEST(Planner, OneProcessorGivesTheSameAnswerAsSeveral) {
  const Simulator simulator;
  const JobSpec job = a_job().model("opt-350m").sequence_length(2048).batch(256);
  const ClusterState cluster =
      a_cluster().pool(kZone, "nvidia-tesla-a100", 8, 4).pool(kZone, "nvidia-tesla-v100", 8, 4);
  const auto plan = [&] { return Planner(simulator).plan(job, cluster, {}, {}).value(); };
  const PlannedJob on_all = plan();
  std::optional<PlannedJob> on_one;
  std::thread([&] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<std::size_t>(sched_getcpu()), &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    on_one = plan();
  }).join();
  ASSERT_TRUE(on_one);
  EXPECT_EQ(on_one->plan, on_all.plan);
  EXPECT_EQ(on_one->bound_throughput, on_all.bound_throughput);
  EXPECT_EQ(on_one->search.candidates, on_all.search.candidates);
}

}  // namespace
}  // namespace sailor
