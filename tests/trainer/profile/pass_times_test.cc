#include "trainer/profile/pass_times.h"

#include <gtest/gtest.h>

namespace sailor::trainer {
namespace {

void add_pass(PassTimes& times, LayerTime first, LayerTime second) {
  times.begin_pass();
  times.layer(0) = first;
  times.layer(1) = second;
}

void add_passes_of(PassTimes& times, std::initializer_list<double> forward) {
  for (const double seconds : forward) add_pass(times, {Seconds(seconds), Seconds(2), Seconds(0.5)}, {});
}

TEST(PassTimes, IgnoresAPassThatOtherProgramsSlowedDown) {
  PassTimes times(2);
  add_passes_of(times, {3, 90, 4, 3.5, 3.5});
  const LayerTime first{Seconds(11.0 / 3), Seconds(2), Seconds(0.5)};
  EXPECT_NEAR(times.trimmed_means()[0].forward / first.forward, 1, 1e-12);
  EXPECT_EQ(times.trimmed_means()[0].backward, first.backward);
  EXPECT_EQ(times.passes(), 5);
}

TEST(PassTimes, SlowAndFastPassesHaveTheSameWeight) {
  PassTimes times(2);
  add_passes_of(times, {1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_EQ(times.trimmed_means()[0].forward, Seconds(4.5));
}

TEST(PassTimes, LayersThatTakeTurnsWaitingForACoreAddUpToAWholePass) {
  PassTimes times(2);
  add_pass(times, {Seconds(8), Seconds(1), Seconds(0)}, {Seconds(1), Seconds(1), Seconds(0)});
  add_pass(times, {Seconds(1), Seconds(1), Seconds(0)}, {Seconds(8), Seconds(1), Seconds(0)});
  const auto means = times.trimmed_means();
  EXPECT_EQ(means[0].forward + means[1].forward, Seconds(9));
  EXPECT_EQ(means[0].backward + means[1].backward, Seconds(2));
}

TEST(PassTimes, ClearDropsTheWarmUp) {
  PassTimes times(2);
  add_pass(times, {Seconds(0.1), Seconds(0.1), Seconds(0)}, {Seconds(0.1), Seconds(0.1), Seconds(0)});
  times.clear();
  add_pass(times, {Seconds(1), Seconds(1), Seconds(0)}, {Seconds(1), Seconds(1), Seconds(0)});
  EXPECT_EQ(times.trimmed_means()[0].forward, Seconds(1));
}

}  // namespace
}  // namespace sailor::trainer
