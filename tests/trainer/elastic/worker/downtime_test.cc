#include "trainer/elastic/worker/downtime.h"

#include <gtest/gtest.h>

namespace sailor::trainer {
namespace {

StateReport stopped_for(double seconds) { return {.stopped_seconds = seconds}; }

TEST(Downtime, IsNotKnownIfNoWorkerHasDoneAStep) {
  Downtime downtime;
  downtime.learn({stopped_for(0), stopped_for(0)});
  EXPECT_EQ(downtime.seconds(), 0);
}

TEST(Downtime, OfAJoiningWorkerBeginsWithTheLastStepOfItsPeers) {
  Downtime downtime;
  downtime.learn({stopped_for(0), stopped_for(100)});
  EXPECT_GE(downtime.seconds(), 100);
}

// A worker that was released long ago may report its own last step.
TEST(Downtime, BeginsWithTheLastStepOfAnyWorker) {
  Downtime joined;
  joined.learn({stopped_for(100), stopped_for(1)});
  EXPECT_LT(joined.seconds(), 50);
  Downtime released;
  released.learn({stopped_for(100)});
  released.learn({stopped_for(1)});
  EXPECT_LT(released.seconds(), 50);
}

}  // namespace
}  // namespace sailor::trainer
