// The planner is asked as rarely as possible.
#include "planner/replay/plan_book.h"

#include <random>
#include <set>

#include <gtest/gtest.h>

#include "tests/planner/replay/replays.h"

namespace sailor {
namespace {

using testing::a_cluster;
using testing::a_long_job;
using testing::at_once;
using testing::four_nodes;
using testing::kSpotPool;
using testing::trace_of;

// Counts how often tables are prepared: a fixed number of times for each question to the planner.
class CountingEstimator : public Estimator {
 public:
  [[nodiscard]] Result<Estimate> estimate(const JobSpec& job, const ClusterState& cluster,
                                          const Plan& plan) const override {
    return simulator_.estimate(job, cluster, plan);
  }
  [[nodiscard]] Result<Estimate> simulate(const JobSpec& job, const ClusterState& cluster,
                                          const Plan& plan) const override {
    return simulator_.simulate(job, cluster, plan);
  }
  [[nodiscard]] Result<ScheduleTimes> schedule_times(const JobSpec& job, const ClusterState& cluster,
                                                     const Plan& plan) const override {
    return simulator_.schedule_times(job, cluster, plan);
  }
  [[nodiscard]] Result<std::unique_ptr<JobEstimator>> prepare(const JobSpec& job, const ClusterState& cluster,
                                                              std::span<const int> sizes) const override {
    ++prepared;
    return simulator_.prepare(job, cluster, sizes);
  }

  mutable int prepared = 0;

 private:
  Simulator simulator_;
};

TEST(PlanBook, EqualQuestionsAreAskedOnce) {
  const auto questions = [](const std::vector<int>& counts) {
    const CountingEstimator estimator;
    const JobSpec job = a_long_job();
    Replay replay = Replay::make(job, four_nodes(), {{kSpotPool, trace_of(counts)}}, estimator, at_once()).value();
    EXPECT_TRUE(replay.run(ReplayPolicy::kLive));
    EXPECT_TRUE(replay.run(ReplayPolicy::kRestart));
    return estimator.prepared;
  };
  std::vector<int> many;
  std::mt19937_64 draw(1);
  for (int i = 0; i < 1000; ++i) many.push_back(static_cast<int>(draw() % 5));
  EXPECT_EQ(questions(many), questions({4, 3, 2, 1, 0}));
}

TEST(PlanBook, PricesOfASinglePoolAreOnlyAQuestionForAJobThatLimitsItsCost) {
  const Simulator simulator;
  const auto questions = [&](const Objective& objective) {
    JobSpec job = a_long_job();
    job.objective = objective;
    PlanBook book = PlanBook::make(job, four_nodes(), simulator, {}).value();
    ClusterState dear = four_nodes();
    dear.pools[0].price_per_gpu = DollarsPerHour(2);
    return std::set{book.number_of(four_nodes()), book.number_of(dear)}.size();
  };
  EXPECT_EQ(questions(MaximizeThroughput{}), 1U);
  EXPECT_EQ(questions(MinimizeCost{.min_throughput = 1}), 1U);
  EXPECT_EQ(questions(MaximizeThroughput{.max_cost_per_hour = DollarsPerHour(5)}), 2U);
}

TEST(PlanBook, PlansOfManyClustersAreNearlyAsFastAsThoseSearchedEverywhere) {
  const JobSpec job = a_long_job();
  const Simulator simulator;
  const auto cluster_of = [](int nodes) {
    return a_cluster().pool("us-central1-a", "nvidia-l4", nodes, 1, Provisioning::kSpot).build();
  };
  PlanBook limited = PlanBook::make(job, cluster_of(66), simulator, {}).value();
  std::vector<int> numbers;
  for (int nodes = 1; nodes <= 66; ++nodes) numbers.push_back(limited.number_of(cluster_of(nodes)));
  limited.limit_searches(numbers);
  for (const int nodes : {65, 64, 41, 8, 2}) {
    const int near = limited.best(limited.number_of(cluster_of(nodes)), PlanStyle::kAny).value();
    const auto everywhere = Planner(simulator).plan(job, cluster_of(nodes), {}, {}).value();
    EXPECT_LE(limited.plan(near).estimate.iteration.value(), everywhere.estimate.iteration.value() * 1.1) << nodes;
  }
}

}  // namespace
}  // namespace sailor
