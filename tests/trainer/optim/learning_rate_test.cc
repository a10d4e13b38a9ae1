#include "trainer/optim/learning_rate.h"

#include <gtest/gtest.h>

namespace sailor::trainer {
namespace {

TrainingSpec training(LearningRateSchedule schedule) {
  TrainingSpec spec{.steps = 110};
  spec.optimizer.learning_rate = 1;
  spec.optimizer.warmup_steps = 10;
  spec.optimizer.schedule = schedule;
  return spec;
}

TEST(LearningRate, WarmsUpLinearlyToItsPeak) {
  for (const auto schedule :
       {LearningRateSchedule::kConstant, LearningRateSchedule::kCosine, LearningRateSchedule::kLinear}) {
    EXPECT_DOUBLE_EQ(learning_rate(training(schedule), 1), 0.1);
    EXPECT_DOUBLE_EQ(learning_rate(training(schedule), 10), 1);
  }
}

TEST(LearningRate, DecaysAccordingToItsSchedule) {
  EXPECT_DOUBLE_EQ(learning_rate(training(LearningRateSchedule::kConstant), 110), 1);
  EXPECT_DOUBLE_EQ(learning_rate(training(LearningRateSchedule::kLinear), 60), 0.5);
  EXPECT_DOUBLE_EQ(learning_rate(training(LearningRateSchedule::kLinear), 110), 0);
  EXPECT_DOUBLE_EQ(learning_rate(training(LearningRateSchedule::kCosine), 60), 0.55);
  EXPECT_DOUBLE_EQ(learning_rate(training(LearningRateSchedule::kCosine), 110), 0.1);
}

TEST(LearningRate, StartsAtItsPeakWithoutWarmUp) {
  TrainingSpec spec = training(LearningRateSchedule::kConstant);
  spec.optimizer.warmup_steps = 0;
  EXPECT_DOUBLE_EQ(learning_rate(spec, 1), 1);
}

}  // namespace
}  // namespace sailor::trainer
