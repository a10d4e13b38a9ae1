#include "trainer/profile/pass_times.h"

#include <gtest/gtest.h>

namespace sailor::trainer {
namespace {

void add_pass(PassTimes& times, LayerTime first, LayerTime second) {
  times.begin_pass();
  times.of(0) = first;
  times.of(1) = second;
}

TEST(PassTimes, APassInWhichSomethingElseHadTheProcessorIsLeftOut) {
  PassTimes times(2);
  add_pass(times, {Seconds(1), Seconds(2), Seconds(0.5)}, {Seconds(3), Seconds(4), Seconds(0)});
  add_pass(times, {Seconds(1), Seconds(90), Seconds(0.5)}, {Seconds(3), Seconds(4), Seconds(0)});
  add_pass(times, {Seconds(3), Seconds(2), Seconds(0.5)}, {Seconds(3), Seconds(4), Seconds(0)});
  const LayerTime first{Seconds(2), Seconds(2), Seconds(0.5)};
  EXPECT_EQ(times.quiet_means()[0], first);
  EXPECT_EQ(times.passes(), 3);
}

TEST(PassTimes, LayersThatWaitForACoreByTurnsAddUpToAWholePass) {
  PassTimes times(2);
  add_pass(times, {Seconds(8), Seconds(1), Seconds(0)}, {Seconds(1), Seconds(1), Seconds(0)});
  add_pass(times, {Seconds(1), Seconds(1), Seconds(0)}, {Seconds(8), Seconds(1), Seconds(0)});
  add_pass(times, {Seconds(9), Seconds(9), Seconds(0)}, {Seconds(9), Seconds(9), Seconds(0)});
  const auto means = times.quiet_means();
  EXPECT_EQ(means[0].forward + means[1].forward, Seconds(9));
  EXPECT_EQ(means[0].backward + means[1].backward, Seconds(2));
}

TEST(PassTimes, WarmUpIsForgotten) {
  PassTimes times(2);
  add_pass(times, {Seconds(0.1), Seconds(0.1), Seconds(0)}, {Seconds(0.1), Seconds(0.1), Seconds(0)});
  times.forget();
  add_pass(times, {Seconds(1), Seconds(1), Seconds(0)}, {Seconds(1), Seconds(1), Seconds(0)});
  EXPECT_EQ(times.quiet_means()[0].forward, Seconds(1));
}

}  // namespace
}  // namespace sailor::trainer
