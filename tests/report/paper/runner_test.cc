// The runner plans every case in three ways, and prices recorded plans.
#include "report/paper/runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/report/paper/runner_fixture.h"

namespace sailor::paper {
namespace {

TEST_F(PaperRunner, EveryCaseIsPlannedInThreeWays) {
  for (const CaseResult& one : results_of({{"10", 2}, {"10", 0}})) {
    for (const std::string_view planner : {kOursPaper, kOursFlow, kOursTrainer}) {
      const PlanResult* plan = one.find(planner);
      ASSERT_NE(plan, nullptr) << one.name << " " << planner;
      EXPECT_EQ(plan->failure, "");
      EXPECT_EQ(plan->by_paper->violation, "");
      EXPECT_GT(plan->by_trainer->throughput, 0);
    }
  }
}

TEST_F(PaperRunner, EachPlanIsBestByTheModelThatItWasMadeFor) {
  const auto results = results_of({{"1", 2}});
  const CaseResult& one = results.front();
  EXPECT_GE(one.find(kOursFlow)->by_paper->throughput, one.find(kOursPaper)->by_paper->throughput * (1 - 1e-9));
  EXPECT_GE(one.find(kOursFlow)->by_paper->throughput, one.find(kOursTrainer)->by_paper->throughput * (1 - 1e-9));
  EXPECT_GE(one.find(kOursTrainer)->by_trainer->throughput, one.find(kOursFlow)->by_trainer->throughput * (1 - 1e-9));
}

TEST_F(PaperRunner, EqualCasesHaveEqualPlans) {
  const auto results = results_of({{"7", 0}, {"8a", 3}});
  EXPECT_EQ(results[0].find(kOursFlow)->gpus, results[1].find(kOursFlow)->gpus);
  EXPECT_EQ(results[0].find(kOursFlow)->search, results[1].find(kOursFlow)->search) << "one question, asked once";
}

TEST_F(PaperRunner, RecordedPlansOfSailorTakeTheRecordedTimeByThePapersModel) {
  if (!std::filesystem::exists(data() / "peer-plans")) GTEST_SKIP() << "the recorded plans are not here";
  const auto results = results_of({{"7", 2}}, data() / "peer-plans");
  const PlanResult* sailors = results.front().find("sailor");
  ASSERT_NE(sailors, nullptr);
  EXPECT_NEAR(sailors->by_paper->throughput / sailors->recorded->throughput, 1, 0.005);
}

TEST_F(PaperRunner, MissingRecordedPlansAreNamed) {
  const Case& one = find_experiment("7").value()->cases.front();
  const std::vector<const Case*> cases{&one};
  EXPECT_THAT(run_cases(cases, artifact_, "/nowhere", {}).error().message, ::testing::HasSubstr("/nowhere/fig7-0"));
}

}  // namespace
}  // namespace sailor::paper
