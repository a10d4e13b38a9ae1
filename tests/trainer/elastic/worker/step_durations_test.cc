#include "trainer/elastic/worker/step_durations.h"

#include <gtest/gtest.h>

namespace sailor::trainer {
namespace {

TEST(StepDurations, DowntimeInAStepDoesNotCountAsUsualTime) {
  StepDurations durations;
  EXPECT_EQ(durations.median(), 0);
  for (int step = 0; step < 9; ++step) durations.add(1.0);
  durations.add(36.0);
  EXPECT_DOUBLE_EQ(durations.mean(), 4.5);
  EXPECT_DOUBLE_EQ(durations.median(), 1.0);
}

TEST(StepDurations, OfTwoStepsTheShorterIsUsual) {
  StepDurations durations;
  durations.add(36.0);
  durations.add(1.0);
  EXPECT_DOUBLE_EQ(durations.median(), 1.0);
}

TEST(StepDurations, OnlyTheLastTenCount) {
  StepDurations durations;
  for (int step = 0; step < 10; ++step) durations.add(5.0);
  for (int step = 0; step < 10; ++step) durations.add(1.0);
  EXPECT_DOUBLE_EQ(durations.mean(), 1.0);
}

TEST(StepDurations, ThreeStepsThatAgreeOnAnotherSpeedReplaceThoseBefore) {
  for (const double changed : {1.3, 0.7}) {
    StepDurations durations;
    for (int step = 0; step < 10; ++step) durations.add(1.0);
    for (int step = 0; step < 2; ++step) durations.add(changed);
    EXPECT_DOUBLE_EQ(durations.median(), 1.0);
    durations.add(changed);
    EXPECT_DOUBLE_EQ(durations.median(), changed);
    EXPECT_DOUBLE_EQ(durations.mean(), changed);
  }
}

TEST(StepDurations, ASlowAndAFastStepReplaceNothing) {
  StepDurations durations;
  for (int step = 0; step < 7; ++step) durations.add(1.0);
  for (const double changed : {1.5, 0.5, 1.5}) durations.add(changed);
  EXPECT_DOUBLE_EQ(durations.median(), 1.0);
}

TEST(StepDurations, StepsThatVaryByATenthCountAlike) {
  StepDurations durations;
  for (int step = 0; step < 10; ++step) durations.add(1.0);
  for (int step = 0; step < 4; ++step) durations.add(1.1);
  EXPECT_DOUBLE_EQ(durations.mean(), 1.04);
}

}  // namespace
}  // namespace sailor::trainer
