// The paper's statements about plans for hundreds of GPUs hold for ours.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/paper/claims.h"
#include "tests/report/paper/runner_fixture.h"

namespace sailor::paper {
namespace {

using PaperPlans = PaperRunner;

TEST_F(PaperPlans, LimitsOfTheObjectivesAreKept) {
  const auto results = results_of({{"13", 0}, {"14", 0}});
  EXPECT_GE(results[0].find(kOursPaper)->by_paper->throughput, 0.2 * (1 - 1e-9));
  EXPECT_LE(results[1].find(kOursFlow)->by_paper->cost.value(), 1.2 * (1 + 1e-9));
}

// Sections 5.2.2 and 5.2.4 of the paper.
TEST_F(PaperPlans, InThePapersModelAndSpaceThePlansUseTheGpusThatThePaperReports) {
  const auto results = results_of({{"8a", 2}, {"13", 0}, {"14", 0}});
  EXPECT_EQ(gpus_text(results[0].find(kOursPaper)->gpus), "128 A100");
  EXPECT_EQ(gpus_text(results[1].find(kOursPaper)->gpus), "64 A100");
  EXPECT_EQ(gpus_text(results[2].find(kOursPaper)->gpus), "256 A100 in 2 zones");
}

TEST_F(PaperPlans, APlanThatBreaksARuleIsPricedAndTheRuleIsNamed) {
  if (!std::filesystem::exists(data() / "peer-plans")) GTEST_SKIP() << "the recorded plans are not here";
  const auto results = results_of({{"12", 2}}, data() / "peer-plans");
  EXPECT_THAT(results.front().find("sailor")->by_paper->violation, ::testing::HasSubstr("132 GPUs of 128"));
}

}  // namespace
}  // namespace sailor::paper
