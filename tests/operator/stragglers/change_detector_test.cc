#include "operator/stragglers/change_detector.h"

#include <cmath>

#include <gtest/gtest.h>

namespace sailor {
namespace {

// Returns the number of samples until the detector is certain; 0: it is not within 100.
int samples_until_certain(double deviation, double weight) {
  ChangeDetector detector;
  for (int sample = 1; sample <= 100; ++sample) {
    if (detector.add(deviation, weight)) return sample;
  }
  return 0;
}

TEST(ChangeDetector, IsCertainOfALargeChangeAfterThreeSamplesAndOfASmallOneLater) {
  EXPECT_EQ(samples_until_certain(std::log(8), 1), 3);
  EXPECT_EQ(samples_until_certain(std::log(2), 1), 3);
  EXPECT_EQ(samples_until_certain(std::log(2), 10), 3);
  EXPECT_EQ(samples_until_certain(-std::log(4), 1), 3);
  EXPECT_EQ(samples_until_certain(std::log(2), 0.25), 12) << "noisy samples tell less";
  EXPECT_GT(samples_until_certain(std::log(1.3), 1), 10);
}

TEST(ChangeDetector, IgnoresDeviationsWithinTheTolerance) {
  EXPECT_EQ(samples_until_certain(std::log(1.19), 4), 0);
  EXPECT_EQ(samples_until_certain(-std::log(1.19), 4), 0);
}

TEST(ChangeDetector, IgnoresTwoSamplesHoweverFarOffTheyAre) {
  ChangeDetector detector;
  for (int i = 0; i < 20; ++i) {
    EXPECT_FALSE(detector.add(std::log(1000), 100));
    EXPECT_FALSE(detector.add(std::log(1000), 100));
    for (int usual = 0; usual < 10; ++usual) EXPECT_FALSE(detector.add(0, 1));
  }
}

TEST(ChangeDetector, MeasuresTheChangeWithoutTheSampleInWhichItBegan) {
  ChangeDetector detector;
  EXPECT_FALSE(detector.add(0.5, 4));
  EXPECT_FALSE(detector.add(1.3, 4));
  EXPECT_DOUBLE_EQ(detector.add(1.5, 4).value(), 1.4);
  EXPECT_TRUE(detector.is_quiet());
}

}  // namespace
}  // namespace sailor
