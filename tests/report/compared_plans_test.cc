// The reasons why plans were not chosen.
#include "report/compared_plans.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/pareto_chart.h"
#include "tests/support/builders.h"

namespace sailor::report {
namespace {

using sailor::testing::a_job;
using sailor::testing::a_key;
using sailor::testing::an_even_plan;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const PoolKey kPool = a_key("us-central1-a", "nvidia-l4");

// A plan with this number of replicas, time per iteration and cost per iteration.
EstimatedPlan estimated(int replicas, double seconds, double dollars) {
  EstimatedPlan plan{an_even_plan(a_job(), kPool, 1, replicas, 1), {}};
  plan.estimate.iteration = Seconds(seconds);
  plan.estimate.gpu_cost_per_iteration = Dollars(dollars);
  plan.estimate.cost_per_hour = DollarsPerHour(dollars * 3600 / seconds);
  plan.estimate.gpus = {{kPool, replicas}};
  return plan;
}

PlannedJob planned(const EstimatedPlan& chosen, std::vector<EstimatedPlan> others) {
  PlannedJob job{.plan = chosen.plan, .estimate = chosen.estimate, .bound_throughput = 2};
  job.alternatives = std::move(others);
  return job;
}

std::string reason(const Objective& objective, const EstimatedPlan& chosen, const EstimatedPlan& other,
                   const PlanOptions& options = {}) {
  for (const ComparedPlan& plan : compared_plans(a_job().objective(objective), planned(chosen, {other}), options)) {
    if (!plan.is_chosen) return plan.reason;
  }
  return "not compared";
}

TEST(ComparedPlans, ASlowerPlanLosesEvenIfItIsCheaper) {
  EXPECT_EQ(reason(MaximizeThroughput{}, estimated(4, 1, 1), estimated(2, 2, 0.8)), "50 % slower, but 20 % cheaper");
}

TEST(ComparedPlans, AFasterPlanLosesIfItIsExpectedToLoseMore) {
  EstimatedPlan chosen = estimated(4, 1, 1);
  EstimatedPlan other = estimated(2, 0.98, 0.9);
  chosen.estimate.expected_loss = {1, Seconds(14.4), {}};
  other.estimate.expected_loss = {1, Seconds(122.4), {}};
  const auto reason_of_other = [&](Redundancy redundancy) {
    JobSpec job = a_job();
    job.redundancy = redundancy;
    return compared_plans(job, planned(chosen, {other}), {})[0].reason;
  };
  EXPECT_EQ(
      reason_of_other(Redundancy::kAuto),
      "0.92 % slower, but 7.3 % cheaper; failures of nodes are expected to lengthen training by 3.4 %, not 0.4 %");
  EXPECT_EQ(reason_of_other(Redundancy::kNone), "2 % faster, 10 % cheaper");
}

TEST(ComparedPlans, AMoreExpensivePlanLosesUnderMinCost) {
  EXPECT_EQ(reason(MinimizeCost{}, estimated(2, 2, 0.8), estimated(4, 1, 1)), "25 % more expensive, but 100 % faster");
}

TEST(ComparedPlans, ABrokenLimitIsTheReason) {
  EXPECT_EQ(reason(MaximizeThroughput{Dollars(0.9)}, estimated(2, 2, 0.8), estimated(4, 1, 1)),
            "$1.00 per iteration, over the limit of $0.9");
  EXPECT_EQ(reason(MaximizeThroughput{{}, DollarsPerHour(2000)}, estimated(2, 2, 0.8), estimated(4, 1, 1)),
            "$3,600.00 per hour, over the limit of $2,000.00");
  EXPECT_EQ(reason(MinimizeCost{1.0}, estimated(4, 1, 1), estimated(2, 2, 0.8)),
            "0.5, below the minimum of 1 iterations/s");
}

TEST(ComparedPlans, ALimitOfZeroIsALimit) {
  EXPECT_THAT(reason(MaximizeThroughput{Dollars(0)}, estimated(2, 2, 0), estimated(4, 1, 1)),
              HasSubstr("over the limit of $0"));
}

TEST(ComparedPlans, ABetterPlanLosesToARunningOneBecauseMovingCosts) {
  const EstimatedPlan running = estimated(2, 1, 1);
  PlanOptions options;
  options.current = running.plan;
  EXPECT_EQ(reason(MaximizeThroughput{}, running, estimated(4, 0.98, 1.2), options),
            "2 % faster, 20 % more expensive; a running job is moved only for a gain of at least 5 %");
}

TEST(ComparedPlans, TheFastestComesFirstAndTheChosenOneIsListedOnce) {
  const EstimatedPlan chosen = estimated(2, 2, 0.8);
  const auto all = compared_plans(a_job().objective(MinimizeCost{}), planned(chosen, {estimated(4, 1, 1), chosen}), {});
  ASSERT_EQ(all.size(), 2U);
  EXPECT_FALSE(all[0].is_chosen);
  EXPECT_TRUE(all[1].is_chosen);
  EXPECT_EQ(all[1].reason, "");
}

TEST(ComparedPlans, TheObjectiveIsASentenceWithItsLimits) {
  EXPECT_EQ(objective_text(MaximizeThroughput{Dollars(1.2), DollarsPerHour(100)}),
            "the most iterations per second for at most $1.20 per iteration and at most $100.00 per hour");
  EXPECT_EQ(objective_text(MinimizeCost{0.5}), "the lowest cost per iteration with at least 0.5 iterations/s");
}

// The chart of two plans that cost $1.00 and $0.80 an iteration, under a limit.
std::string chart_with_limit(double dollars) {
  const JobSpec job = a_job().objective(MaximizeThroughput{Dollars(dollars)});
  const auto plans = compared_plans(job, planned(estimated(4, 1, 1), {estimated(2, 2, 0.8)}), {});
  return pareto_chart(job, plans, 0).str();
}

TEST(ParetoChart, LimitAboveTheChartIsSaidAndNotDrawn) {
  EXPECT_THAT(chart_with_limit(1.05), AllOf(HasSubstr("limit dashed"), HasSubstr("limit: $1.05 per iteration<")));
  EXPECT_THAT(chart_with_limit(5),
              AllOf(Not(HasSubstr("limit dashed")), HasSubstr("limit: $5.00 per iteration, above this chart")));
}

}  // namespace
}  // namespace sailor::report
