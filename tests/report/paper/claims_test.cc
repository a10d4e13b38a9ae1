// The measures of the claims.
#include "report/paper/claims.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sailor::paper {
namespace {

PlanResult a_plan(std::string_view planner, double throughput, double cost) {
  const Outcome outcome{throughput, Dollars(cost), ""};
  return {.planner = std::string(planner), .by_paper = outcome, .by_trainer = outcome, .search = Seconds(0.5)};
}

PlanResult a_recorded_plan(std::string_view planner, double throughput, double cost) {
  PlanResult plan = a_plan(planner, throughput, cost);
  plan.recorded = plan.by_paper;
  return plan;
}

CaseResult a_case(double ours, double sailors, double others) {
  return {"case",
          {a_recorded_plan("sailor", sailors, 2), a_recorded_plan("amp", others, 4), a_plan(kOursPaper, ours, 2),
           a_plan(kOursFlow, 2 * ours, 1), a_plan(kOursTrainer, 3 * ours, 1)}};
}

ClaimResult result_of(const Claim& claim, std::vector<CaseResult> cases, const std::vector<RunErrors>& runs = {}) {
  Experiment experiment;
  experiment.claims = {claim};
  return compare(experiment, std::move(cases), runs).claims.front();
}

TEST(Claims, AFactorOverAnotherPlannerIsTheMeanOfTheCasesThatHaveIt) {
  const Claim claim{.measure = Measure::kOverPeer, .of = Quantity::kThroughput, .peer = "amp"};
  CaseResult without = a_case(100, 100, 1);
  std::erase_if(without.plans, [](const PlanResult& plan) { return plan.planner == "amp"; });
  const ClaimResult result = result_of(claim, {a_case(8, 6, 2), a_case(4, 2, 2), without});
  EXPECT_DOUBLE_EQ(*result.at(Column::kRecorded).number, 2);
  EXPECT_DOUBLE_EQ(*result.at(Column::kPaperSpace).number, 3);
  EXPECT_DOUBLE_EQ(*result.at(Column::kFlowSpace).number, 6);
  EXPECT_DOUBLE_EQ(*result.at(Column::kTrainer).number, 9);
}

TEST(Claims, TheCostOfAnotherPlannerOverOursIsAboveOneWhereOursIsCheaper) {
  const Claim claim{.measure = Measure::kUnderPeer, .of = Quantity::kCost, .peer = "amp"};
  EXPECT_DOUBLE_EQ(*result_of(claim, {a_case(1, 1, 1)}).at(Column::kPaperSpace).number, 2);
}

TEST(Claims, AnotherPlannersPlanCountsAsRecordedInThePapersColumns) {
  CaseResult one = a_case(8, 6, 2);
  one.plans[1].by_paper->throughput = 4;  // our simulator disagrees with the recorded value
  const Claim claim{.measure = Measure::kOverPeer, .of = Quantity::kThroughput, .peer = "amp"};
  EXPECT_DOUBLE_EQ(*result_of(claim, {one}).at(Column::kPaperSpace).number, 4);
}

TEST(Claims, TwoCasesAreComparedInEveryColumn) {
  const Claim claim{.measure = Measure::kOverCase, .of = Quantity::kThroughput, .at = 1, .base = 0};
  const ClaimResult result = result_of(claim, {a_case(2, 4, 1), a_case(3, 8, 1)});
  EXPECT_DOUBLE_EQ(*result.at(Column::kRecorded).number, 2);
  EXPECT_DOUBLE_EQ(*result.at(Column::kPaperSpace).number, 1.5);
}

TEST(Claims, ACaseWithoutAPlanHasNoValue) {
  const Claim claim{.measure = Measure::kValue};
  CaseResult infeasible{"case", {{.planner = std::string(kOursPaper), .failure = "no plan fits"}}};
  const ClaimResult result = result_of(claim, {infeasible});
  EXPECT_TRUE(result.at(Column::kPaperSpace).is_empty());
  EXPECT_TRUE(result.at(Column::kRecorded).is_empty());
}

TEST(Claims, TheSearchOfAnotherPlannerHasOnlyARecordedTime) {
  const ClaimResult result = result_of({.measure = Measure::kSearch, .peer = "amp"}, {a_case(1, 1, 1)});
  EXPECT_EQ(result.at(Column::kRecorded).number, 0.5);
  EXPECT_TRUE(result.at(Column::kPaperSpace).is_empty());
}

TEST(Claims, ErrorsOfRunsAreMeansOfAbsoluteValues) {
  const Claim claim{.measure = Measure::kTimeError, .runs = "gh_"};
  const std::vector<RunErrors> runs{{"gh_1", 0.1, {}}, {"gh_2", -0.3, {}}, {"gh_3", {}, 0.5}, {"rtx_1", 0.9, {}}};
  EXPECT_DOUBLE_EQ(*result_of(claim, {}, runs).at(Column::kMeasured).number, 0.2);
}

TEST(Claims, AValueMoreThanATenthOffDiffers) {
  Claim claim{.measure = Measure::kValue, .published = {.range = Range{1.0, 1.0}}};
  EXPECT_FALSE(result_of(claim, {a_case(1.09, 1, 1)}).differs());
  EXPECT_FALSE(result_of(claim, {a_case(0.92, 1, 1)}).differs());
  EXPECT_TRUE(result_of(claim, {a_case(1.11, 1, 1)}).differs());
  EXPECT_TRUE(result_of(claim, {a_case(0.9, 1, 1)}).differs());
}

TEST(Claims, AValueBelowALimitDoesNotDiffer) {
  Claim claim{.measure = Measure::kValue, .published = {.range = Range{1.0, 1.0}, .is_limit = true}};
  EXPECT_FALSE(result_of(claim, {a_case(0.1, 1, 1)}).differs());
  EXPECT_TRUE(result_of(claim, {a_case(1.05, 1, 1)}).differs());
}

TEST(Claims, ASmallerErrorDoesNotDiffer) {
  const Claim claim{.measure = Measure::kTimeError, .runs = "gh_", .published = {.range = Range{0.06, 0.06}}};
  EXPECT_FALSE(result_of(claim, {}, {{"gh_1", 0.01, {}}}).differs());
  EXPECT_TRUE(result_of(claim, {}, {{"gh_1", -0.07, {}}}).differs());
}

TEST(Claims, WhatOnlyThePaperOrOnlyWeHaveIsNotCompared) {
  const Claim ours_only{.measure = Measure::kValue};
  EXPECT_FALSE(result_of(ours_only, {a_case(1, 1, 1)}).is_compared());
  const Claim papers_only{.measure = Measure::kNone, .published = {.range = Range{2.0, 2.0}}};
  EXPECT_FALSE(result_of(papers_only, {a_case(1, 1, 1)}).is_compared());
}

TEST(Claims, GpusAreCountedByTypeAndZonesAreNamedIfThereAreSeveral) {
  const auto pool = [](const char* zone, const char* gpu) {
    return PoolKey{Zone(zone), Accelerator(gpu), Provisioning::kOnDemand};
  };
  EXPECT_EQ(gpus_text({{pool("a-b-c", "nvidia-tesla-a100"), 64}}), "64 A100");
  EXPECT_EQ(gpus_text({{pool("a-b-c", "nvidia-tesla-a100"), 4},
                       {pool("a-b-d", "nvidia-tesla-a100"), 4},
                       {pool("a-b-d", "nvidia-gh200"), 2}}),
            "8 A100 + 2 GH200 in 2 zones");
}

}  // namespace
}  // namespace sailor::paper
