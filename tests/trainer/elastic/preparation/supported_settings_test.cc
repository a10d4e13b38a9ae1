#include "trainer/elastic/preparation/supported_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/trainer/support/assignments.h"

namespace sailor::trainer::testing {
namespace {

TEST(Supported, AGroupThatCannotPartitionTheTokensEvenlyIsRefusedWithASentence) {
  Assignment job = tiny_job("/data/*.txt");
  job.training.sequence_parallelism = SequenceParallelism::kAlways;
  job.training.sequence_length = 22;
  job.plan = plan_of(job, {{0, 3, {8}, {2}}, {3, 5, {8}, {4}}});
  const auto checked = check_supported(job);
  ASSERT_FALSE(checked.has_value());
  EXPECT_EQ(
      checked.error().message,
      "plan.stages[1].replicas[0].tensorParallel: sequence parallelism partitions the tokens of a sequence evenly, "
      "but 4 GPUs cannot share 22; use a tensorParallel that divides sequenceLength");
  job.plan = plan_of(job, {{0, 3, {8}, {2}}, {3, 5, {8}}});
  EXPECT_TRUE(check_supported(job).has_value());
}

TEST(Supported, MoreWorkersThanKeyValueHeadsAreRefused) {
  Assignment job = tiny_job("/data/*.txt");
  job.model = tiny_model(ModelFamily::kLlama);
  job.plan = plan_of(job, {{0, 5, {8}, {4}}});
  EXPECT_THAT(check_supported(job).error().message, ::testing::HasSubstr("split over 2 workers at most"));
}

}  // namespace
}  // namespace sailor::trainer::testing
