// The arithmetic of training, against published figures.
#include "core/model/training_flops.h"

#include <gtest/gtest.h>

namespace sailor {
namespace {

TEST(TrainingFlops, OfGpt2AreSixTimesItsParametersAndAttention) {
  const ModelSpec gpt2 = find_model("gpt2").value();
  // 85.1 million parameters in the blocks and 38.6 million in the head; attention over 1024 tokens in 12 blocks.
  const double expected = 6 * 123.65e6 + 12.0 * 12 * 768 * 1024;
  EXPECT_NEAR(training_flops_per_token(gpt2, 1024).value(), expected, expected * 0.002);
}

TEST(TrainingFlops, LocalAttentionCountsItsWindow) {
  ModelSpec model = find_model("gpt2").value();
  const double global = training_flops_per_token(model, 1024).value();
  model.local_window = 256;
  EXPECT_DOUBLE_EQ(global - training_flops_per_token(model, 1024).value(), 6 * 12.0 * 768 * (1024 - 256))
      << "six of twelve blocks are local";
}

TEST(TrainingFlops, UtilizationIsTheShareOfThePeak) {
  JobSpec job;
  job.model = find_model("gpt2").value();
  job.training.sequence_length = 1024;
  const FlopsPerSecond peak(training_flops_per_token(job.model, 1024).value() * 1000);
  EXPECT_DOUBLE_EQ(model_flops_utilization(job, 400, peak), 0.4);
}

}  // namespace
}  // namespace sailor
