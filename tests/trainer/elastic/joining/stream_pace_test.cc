// How a stream shares the time with the steps: its share falls only while it slows them down.
#include "trainer/elastic/joining/stream_pace.h"

#include <gtest/gtest.h>

namespace sailor::trainer {
namespace {

constexpr double kSlowdown = 0.1;

// Notes steps of a worker that trains at `seconds` per step without streaming, and at `streaming` times that while
// shards are sent.
void train(StreamPace& pace, int steps, double seconds, double streaming) {
  for (int step = 0; step < steps; ++step) {
    pace.note_step({.seconds = pace.is_paused() ? seconds : seconds * streaming, .usual_seconds = 1});
  }
}

TEST(StreamPace, FallsWhileStreamingSlowsStepsAndRisesWhileItDoesNot) {
  StreamPace pace(kSlowdown);
  const double first = pace.share();
  train(pace, 2, 1, 1.2);
  EXPECT_LT(pace.share(), first);
  train(pace, 100, 1, 1.2);
  EXPECT_GT(pace.share(), 0) << "a stream ends in any case";
  train(pace, 100, 1, 1);
  EXPECT_EQ(pace.share(), 1);
}

TEST(StreamPace, RisesWhileStepsAreSlowForAnotherReason) {
  StreamPace pace(kSlowdown);
  train(pace, 1, 1, 1);
  const double share = pace.share();
  train(pace, 20, 2, 1);
  EXPECT_GT(pace.share(), share);
  train(pace, 20, 3, 1);
  EXPECT_EQ(pace.share(), 1);
}

TEST(StreamPace, IsPausedForOneStepAfterASlowOne) {
  StreamPace pace(kSlowdown);
  train(pace, 1, 1, 1.2);
  EXPECT_TRUE(pace.is_paused());
  train(pace, 1, 1, 1.2);
  EXPECT_FALSE(pace.is_paused());
}

TEST(StreamPace, FallsAgainAfterAnotherReasonIsGone) {
  StreamPace pace(kSlowdown);
  train(pace, 20, 3, 1);
  train(pace, 20, 1, 1);
  EXPECT_EQ(pace.share(), 1);
  train(pace, 2, 1, 1.2);
  EXPECT_LT(pace.share(), 1) << "a step of 1.2 s is slow, although steps of 3 s were usual once";
}

TEST(StreamPace, CountsShortStepsTogether) {
  StreamPace pace(kSlowdown);
  for (const double seconds : {0.08, 0.12, 0.1, 0.07, 0.13, 0.11, 0.09, 0.06, 0.14, 0.1}) {
    pace.note_step({.seconds = seconds, .usual_seconds = 0.1});
  }
  EXPECT_FALSE(pace.is_paused()) << "their mean is as usual";
}

TEST(StreamPace, OfAnUrgentChangeIsAlwaysFull) {
  StreamPace pace(kNoTimeToLose);
  pace.note_step({.seconds = 100, .usual_seconds = 1});
  EXPECT_EQ(pace.share(), 1);
}

}  // namespace
}  // namespace sailor::trainer
