// Axes: the coordinates of values, and ticks.
#include "report/scale.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sailor::report {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;

TEST(Scale, MapsItsEndsAndTheMiddle) {
  const Scale up(0, 10, 300, 100);  // upwards: y grows downwards
  EXPECT_DOUBLE_EQ(up.at(0), 300);
  EXPECT_DOUBLE_EQ(up.at(5), 200);
  EXPECT_DOUBLE_EQ(up.clamped(20), 100);
}

TEST(Scale, TicksAreRoundAndInside) {
  EXPECT_THAT(Scale(0, 1, 0, 1).ticks(5),
              ElementsAre(0, DoubleNear(0.2, 1e-12), DoubleNear(0.4, 1e-12), DoubleNear(0.6, 1e-12),
                          DoubleNear(0.8, 1e-12), DoubleNear(1, 1e-12)));
  EXPECT_THAT(Scale(95, 260, 0, 1).ticks(3), ElementsAre(100, 200));
}

TEST(Scale, HasAboutTheRequestedNumberOfTicks) {
  for (const double size : {1e-7, 3e-3, 0.77, 12.0, 4.2e5}) {
    const auto ticks = Scale(0, size, 0, 1).ticks(8);
    EXPECT_GE(ticks.size(), 4U) << size;
    EXPECT_LE(ticks.size(), 10U) << size;
  }
}

}  // namespace
}  // namespace sailor::report
