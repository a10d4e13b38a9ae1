#include "operator/kube/gradual_clock.h"

#include <gtest/gtest.h>

namespace sailor {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

class GradualClockTest : public ::testing::Test {
 protected:
  void pass(milliseconds time) {
    wall += time;
    monotonic += time;
  }

  Time wall = *parse_rfc3339("2026-01-01T00:00:00Z");
  MonotonicTime monotonic{hours(1)};
  GradualClock clock{[this] { return wall; }, [this] { return monotonic; }};
};

TEST(TimeSinceBoot, IsAtLeastTheTimeThatTheMachineWasNotSuspended) {
  const MonotonicTime running = monotonic_time();
  const MonotonicTime booted = time_since_boot();
  EXPECT_GE(booted, running);
  EXPECT_LT(booted.time_since_epoch(), hours(20 * 365 * 24)) << "it is no time of the calendar";
}

TEST_F(GradualClockTest, ShowsTheTimeOfTheMachine) {
  for (int i = 0; i < 100; ++i) {
    pass(milliseconds(i));
    EXPECT_EQ(clock.now(), wall);
  }
}

TEST_F(GradualClockTest, RunsAtHalfTheSpeedAfterTheMachinesClockWasSetBack) {
  const Time before = clock.now();
  wall -= hours(5);
  EXPECT_EQ(clock.now(), before);
  pass(minutes(10));
  EXPECT_EQ(clock.now(), before + minutes(5));
  pass(hours(10));
  EXPECT_EQ(clock.now(), wall);
}

TEST_F(GradualClockTest, RunsAtTwiceTheSpeedAfterTheMachinesClockWasSetAhead) {
  const Time before = clock.now();
  wall += hours(5);
  EXPECT_EQ(clock.now(), before);
  pass(minutes(10));
  EXPECT_EQ(clock.now(), before + minutes(20));
  pass(hours(5));
  EXPECT_EQ(clock.now(), wall);
}

TEST_F(GradualClockTest, RunsOnThoughItIsReadEveryMillisecond) {
  const Time before = clock.now();
  wall -= hours(5);
  for (int i = 0; i < 1000; ++i) {
    pass(milliseconds(1));
    clock.now();
  }
  EXPECT_EQ(clock.now(), before + milliseconds(500));
}

TEST_F(GradualClockTest, TakesATimeThatIsDaysAwayAtOnce) {
  clock.now();
  wall += hours(24 * 365);
  EXPECT_EQ(clock.now(), wall);
  wall -= hours(24 * 7);
  EXPECT_EQ(clock.now(), wall);
}

}  // namespace
}  // namespace sailor
