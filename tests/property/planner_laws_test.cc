// Laws of the planner, on random small worlds and with several execution models.
#include <algorithm>
#include <ranges>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "planner/planner.h"
#include "simulator/simulator.h"
#include "tests/support/brute_force.h"
#include "tests/support/random_worlds.h"

namespace sailor {
namespace {

using testing::a_small_world;
using testing::BruteForce;
using testing::SmallWorld;

struct Trial {
  std::string model;  // the execution model's name
  bool whole;         // on all worlds, which takes minutes, or on the first third of them
};

class PlannerLaws : public ::testing::TestWithParam<Trial> {
 protected:
  PlannerLaws() : simulator_({}, google_cloud_network(), *find_execution_model(GetParam().model)) {
    current = &simulator_;
  }
  ~PlannerLaws() override { current = nullptr; }

  // Returns how many of this many worlds are tried.
  static int tried(int all) { return GetParam().whole ? all : all / 3; }

  // Returns the seeds of those worlds.
  static auto seeds(int all, std::uint64_t first = 1) { return std::views::iota(first, first + tried(all)); }

 public:
  static inline const Simulator* current = nullptr;  // of the test that runs

 private:
  Simulator simulator_;
};

std::vector<Trial> trials(bool whole) {
  std::vector<Trial> trials;
  for (const char* model : {"trainer", "default", "deepspeed", "sailor-paper"}) trials.push_back({model, whole});
  return trials;
}

std::string name_of(const ::testing::TestParamInfo<Trial>& trial) {
  std::string name = trial.param.model;
  std::erase(name, '-');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Models, PlannerLaws, ::testing::ValuesIn(trials(false)), name_of);
INSTANTIATE_TEST_SUITE_P(WholeModels, PlannerLaws, ::testing::ValuesIn(trials(true)), name_of);

const Simulator& simulator() { return *PlannerLaws::current; }

Result<PlannedJob> plan(const SmallWorld& world, PlanSpace space) {
  PlanOptions options;
  options.space = space;
  return Planner(simulator()).plan(world.job, world.cluster, options, {});
}

// Returns the value to minimize for the job's objective.
double value_of(const JobSpec& job, const Estimate& estimate) {
  return std::holds_alternative<MaximizeThroughput>(job.objective) ? estimate.iteration.value()
                                                                   : estimate.cost_per_iteration().value();
}

EstimateSummary figures_of(const Estimate& estimate) {
  return {estimate.iteration, estimate.cost_per_iteration(), Bytes(0)};
}

// Checks that our plan is as good as the best that brute force finds, and that of all plans that are as good, brute
// force finds none that is better by the other figure.
void expect_best(const SmallWorld& world, PlanSpace space, const Estimate& ours) {
  const Goal goal = Goal::of(world.job);
  BruteForce others(simulator(), world.job, world.cluster, space);
  const EstimateSummary best =
      others.better_than(goal.value_of(figures_of(ours)) * (1 - 1e-9)).value_or(figures_of(ours));
  const Goal second = goal.among_equals_of(best);
  EXPECT_LE(second.misses_of(figures_of(ours), world.job.resources.min_gpus).sum(), 1e-9)
      << ours.iteration.value() << " s for $" << ours.cost_per_iteration().value() << " is not as good as "
      << best.iteration.value() << " s for $" << best.cost.value();
  BruteForce equals(simulator(), world.job, world.cluster, space, second);
  if (const auto better = equals.better_than(second.value_of(figures_of(ours)) * (1 - 1e-9))) {
    ADD_FAILURE() << better->iteration.value() << " s for $" << better->cost.value() << " is better than "
                  << ours.iteration.value() << " s for $" << ours.cost_per_iteration().value();
  }
}

// Returns our plan, if one exists. Checks that brute force finds no plan if we find none, and no better one if we do.
std::optional<PlannedJob> compared_with_brute_force(const SmallWorld& world, PlanSpace space) {
  auto planned = plan(world, space);
  if (!planned) {
    EXPECT_FALSE(BruteForce(simulator(), world.job, world.cluster, space).best()) << planned.error().message;
    return std::nullopt;
  }
  expect_best(world, space, planned->estimate);
  return *std::move(planned);
}

// Brute force also tries every partition of the remaining microbatches among the replicas of a stage.
TEST_P(PlannerLaws, BruteForceFindsNoBetterPlanInThePapersSpace) {
  int feasible = 0;
  for (const std::uint64_t seed : seeds(300)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    feasible += compared_with_brute_force(a_small_world(seed, 10), PlanSpace::kPaper) ? 1 : 0;
  }
  EXPECT_GT(feasible, tried(150)) << "most worlds should have a plan, or this test tests little";
}

// In this space a replica may have any number of microbatches and a stage any replicas. One world in three has up to
// ten GPUs, the others up to six. Worlds with many GPUs have fewer microbatches, which limits the time of brute force.
TEST_P(PlannerLaws, BruteForceFindsNoBetterPlanInTheFlowSpace) {
  int feasible = 0;
  for (const std::uint64_t seed : seeds(300)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SmallWorld world = a_small_world(seed, seed % 3 == 0 ? 10 : 6);
    int& batch = world.job.training.global_batch_size;
    batch = std::min(batch, world.cluster.free_gpus() > 7 ? 4 : 8);
    feasible += compared_with_brute_force(world, PlanSpace::kFlow) ? 1 : 0;
  }
  EXPECT_GT(feasible, tried(150)) << "most worlds should have a plan, or this test tests little";
}

// A random node of the world has slow GPUs. GPUs of different grades are never in one tensor-parallel group.
TEST_P(PlannerLaws, BruteForceFindsNoBetterPlanWithSlowGpus) {
  int feasible = 0;
  for (const std::uint64_t seed : seeds(100)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SmallWorld world = a_small_world(seed, 6);
    int& batch = world.job.training.global_batch_size;
    batch = std::min(batch, 8);
    testing::make_a_node_slow(world, seed);
    feasible += compared_with_brute_force(world, PlanSpace::kFlow) ? 1 : 0;
  }
  EXPECT_GT(feasible, tried(40)) << "most worlds should have a plan, or this test tests little";
}

// Checks the bound of the world's plan. Brute force lists every plan, so that a bound cannot be right only because no
// plan near it was examined. Returns false if no plan is feasible.
bool is_bound_compared_with_brute_force(const SmallWorld& world) {
  const auto best = BruteForce(simulator(), world.job, world.cluster, PlanSpace::kFlow).best();
  const auto planned = plan(world, PlanSpace::kFlow);
  EXPECT_EQ(planned.has_value(), best.has_value());
  if (!best || !planned) return false;
  EXPECT_LE(1 / Goal::of(world.job).value_of(*best), std::holds_alternative<MaximizeThroughput>(world.job.objective)
                                                         ? planned->bound_throughput * (1 + 1e-9)
                                                         : 1 / planned->bound_cost.value() * (1 + 1e-9));
  return true;
}

TEST_P(PlannerLaws, TheBoundIsNotBeatenByAnyPlanOfTheFlowSpace) {
  int feasible = 0;
  for (const std::uint64_t seed : seeds(100)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SmallWorld world = a_small_world(seed, 5);
    world.job.training.global_batch_size = std::min(world.job.training.global_batch_size, 4);
    feasible += is_bound_compared_with_brute_force(world) ? 1 : 0;
  }
  EXPECT_GT(feasible, tried(50)) << "most worlds should have a plan, or this test tests little";
}

TEST_P(PlannerLaws, TheBoundIsNotBeatenByAnyPlanWithSlowGpus) {
  int feasible = 0;
  for (const std::uint64_t seed : seeds(50)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SmallWorld world = a_small_world(seed, 5);
    world.job.training.global_batch_size = std::min(world.job.training.global_batch_size, 4);
    testing::make_a_node_slow(world, seed);
    feasible += is_bound_compared_with_brute_force(world) ? 1 : 0;
  }
  EXPECT_GT(feasible, tried(20)) << "most worlds should have a plan, or this test tests little";
}

// With more nodes, a looser budget or a lower price, the planner does at least as well as in the smaller world.
TEST_P(PlannerLaws, ABetterWorldNeverWorsensARunningPlan) {
  int feasible = 0;
  for (const std::uint64_t seed : seeds(150)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const SmallWorld world = a_small_world(seed, 12);
    const auto before = plan(world, PlanSpace::kFlow);
    if (!before) continue;
    ++feasible;
    SmallWorld better = world;
    if (seed % 3 == 0) {
      for (Pool& pool : better.cluster.pools) pool.nodes.front().count += 1;
    } else if (seed % 3 == 1) {
      for (Pool& pool : better.cluster.pools) pool.price_per_gpu = pool.price_per_gpu * 0.8;
    } else if (auto* objective = std::get_if<MaximizeThroughput>(&better.job.objective)) {
      if (objective->max_cost_per_iteration)
        *objective->max_cost_per_iteration = *objective->max_cost_per_iteration * 2;
      if (objective->max_cost_per_hour) *objective->max_cost_per_hour = *objective->max_cost_per_hour * 2;
    } else {
      better.job.objective = MinimizeCost{};
    }
    PlanOptions options;
    options.current = before->plan;
    const auto after = Planner(simulator()).plan(better.job, better.cluster, options, {});
    ASSERT_TRUE(after) << after.error().message;
    EXPECT_LE(value_of(world.job, after->estimate), value_of(world.job, before->estimate) * (1 + 1e-9));
  }
  EXPECT_GT(feasible, tried(75));
}

TEST_P(PlannerLaws, FlowIsNeverWorseThanThePapersSpace) {
  for (const std::uint64_t seed : seeds(150)) {
    const SmallWorld world = a_small_world(seed, 8);
    const auto paper = plan(world, PlanSpace::kPaper);
    const auto flow = plan(world, PlanSpace::kFlow);
    if (!paper) continue;
    ASSERT_TRUE(flow) << "seed " << seed << ": " << flow.error().message;
    // Of two plans that cost nearly the same, the faster one may cost a little more (goal.h).
    const double equal = std::holds_alternative<MinimizeCost>(world.job.objective) ? 0.01 : 1e-12;
    EXPECT_LE(value_of(world.job, flow->estimate), value_of(world.job, paper->estimate) * (1 + equal))
        << "seed " << seed;
  }
}

TEST_P(PlannerLaws, EveryPlanUsesOnlyAvailableGpusAndRespectsTheLimits) {
  for (const std::uint64_t seed : seeds(300)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const SmallWorld world = a_small_world(seed, 16);
    const auto planned = plan(world, PlanSpace::kFlow);
    if (!planned) continue;
    EXPECT_TRUE(check_well_formed(planned->plan, world.job).has_value());
    EXPECT_TRUE(planned->estimate.fits()) << planned->estimate.violations.front();
    EXPECT_TRUE(resource_violations(planned->plan, world.job, world.cluster).empty());
    if (const auto* objective = std::get_if<MaximizeThroughput>(&world.job.objective)) {
      if (objective->max_cost_per_iteration) {
        EXPECT_LE(planned->estimate.cost_per_iteration(), *objective->max_cost_per_iteration);
      }
      if (objective->max_cost_per_hour) {
        EXPECT_LE(planned->estimate.cost_per_hour.value(), objective->max_cost_per_hour->value() * (1 + 1e-12));
      }
    }
  }
}

TEST_P(PlannerLaws, TheEstimateOfTheSearchIsThatOfTheSimulator) {
  for (const std::uint64_t seed : seeds(100)) {
    const SmallWorld world = a_small_world(seed, 12);
    const auto planned = plan(world, PlanSpace::kFlow);
    if (!planned) continue;
    const auto again = simulator().simulate(world.job, world.cluster, planned->plan);
    ASSERT_TRUE(again);
    EXPECT_EQ(*again, planned->estimate) << "seed " << seed;
    const auto estimator = simulator().prepare(world.job, world.cluster, std::vector<int>{1, 2}).value();
    const EstimateSummary simulated =
        estimator->simulated_below({}, grouped(planned->plan, world.cluster).value()).value();
    EXPECT_EQ(simulated.iteration, again->iteration) << "seed " << seed;
    EXPECT_EQ(simulated.cost, again->cost_per_iteration()) << "seed " << seed;
  }
}

TEST_P(PlannerLaws, TheSameQuestionHasTheSameAnswerWhateverWasAskedBefore) {
  const Planner planner(simulator());
  for (const std::uint64_t seed : seeds(60)) {
    SmallWorld world = a_small_world(seed, 10);
    const auto first = planner.plan(world.job, world.cluster, {}, {});
    const SmallWorld other = a_small_world(seed + 1000, 16);
    (void)planner.plan(other.job, other.cluster, {}, {});
    std::ranges::reverse(world.cluster.pools);
    const auto second = planner.plan(world.job, world.cluster, {}, {});
    ASSERT_EQ(first.has_value(), second.has_value()) << "seed " << seed;
    if (first) {
      EXPECT_EQ(first->plan, second->plan) << "seed " << seed;
    }
  }
}

TEST_P(PlannerLaws, NoPlanIsFasterThanTheBound) {
  for (const std::uint64_t seed : seeds(200)) {
    const SmallWorld world = a_small_world(seed, 16);
    const auto planned = plan(world, PlanSpace::kFlow);
    if (!planned) continue;
    EXPECT_LE(planned->bound_ratio(), 1 + 1e-9) << "seed " << seed;
    EXPECT_LE(planned->cost_bound_ratio(), 1 + 1e-9) << "seed " << seed;
    for (const EstimatedPlan& other : planned->alternatives) {
      EXPECT_LE(other.estimate.throughput(), planned->bound_throughput * (1 + 1e-9)) << "seed " << seed;
    }
  }
}

// Plans for the highest throughput, whatever the objective of the world was.
Result<PlannedJob> thoroughly_planned(SmallWorld& world) {
  world.job.objective = MaximizeThroughput{};
  PlanOptions options;
  options.proof = Proof::kThorough;
  return Planner(simulator()).plan(world.job, world.cluster, options, {});
}

TEST_P(PlannerLaws, TheThoroughProofIsBeatenNeitherByBruteForceNorByTheSearch) {
  int proved = 0;
  for (const std::uint64_t seed : seeds(100)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SmallWorld world = a_small_world(seed, seed % 2 == 0 ? 6 : 40);
    const auto planned = thoroughly_planned(world);
    if (!planned) continue;
    ++proved;
    EXPECT_LE(planned->bound_ratio(), 1 + 1e-9);
    if (seed % 2 != 0) continue;
    const auto best = BruteForce(simulator(), world.job, world.cluster, PlanSpace::kPaper).best();
    ASSERT_TRUE(best);
    EXPECT_LE(1 / best->iteration.value(), planned->bound_throughput * (1 + 1e-9));
  }
  EXPECT_GT(proved, tried(50)) << "most worlds should have a plan, or this test tests little";
}

// Brute force tries every partition of microbatches among any replicas, including stages with mixed tensor-parallel
// sizes.
TEST_P(PlannerLaws, TheThoroughProofIsNotBeatenByBruteForceInTheFlowSpace) {
  int proved = 0;
  for (const std::uint64_t seed : seeds(80, 201)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SmallWorld world = a_small_world(seed, 5);
    world.job.training.global_batch_size = std::min(world.job.training.global_batch_size, 4);
    const auto planned = thoroughly_planned(world);
    const auto best = BruteForce(simulator(), world.job, world.cluster, PlanSpace::kFlow).best();
    if (!planned || !best) continue;
    ++proved;
    EXPECT_LE(1 / best->iteration.value(), planned->bound_throughput * (1 + 1e-9));
  }
  EXPECT_GT(proved, tried(40)) << "most worlds should have a plan, or this test tests little";
}

// With few microbatches for many GPUs, stages end at very different times and every replica has few microbatches.
TEST_P(PlannerLaws, TheThoroughProofIsNotBeatenWhereManyGpusShareASmallBatch) {
  int proved = 0;
  for (const std::uint64_t seed : seeds(80)) {
    SmallWorld world = a_small_world(seed, 400);
    const auto planned = thoroughly_planned(world);
    if (!planned) continue;
    ++proved;
    EXPECT_LE(planned->bound_ratio(), 1 + 1e-9) << "seed " << seed;
    for (const EstimatedPlan& other : planned->alternatives) {
      EXPECT_LE(other.estimate.throughput(), planned->bound_throughput * (1 + 1e-9)) << "seed " << seed;
    }
  }
  EXPECT_GT(proved, tried(40)) << "most worlds should have a plan, or this test tests little";
}

TEST_P(PlannerLaws, AlternativesAreAParetoFrontThatStartsWithTheFastest) {
  for (const std::uint64_t seed : seeds(100)) {
    const auto planned = plan(a_small_world(seed, 12), PlanSpace::kFlow);
    if (!planned) continue;
    for (std::size_t i = 1; i < planned->alternatives.size(); ++i) {
      const Estimate& faster = planned->alternatives[i - 1].estimate;
      const Estimate& cheaper = planned->alternatives[i].estimate;
      EXPECT_LT(faster.iteration, cheaper.iteration) << "seed " << seed;
      EXPECT_GT(faster.cost_per_iteration(), cheaper.cost_per_iteration()) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace sailor
