#include "core/model/checkpoint_interval.h"

#include <gtest/gtest.h>

namespace sailor {
namespace {

TEST(CheckpointInterval, IsYoungsOptimum) {
  // 8 s to write, a failure every hour: sqrt(2 x 8 x 3600) = 240.
  EXPECT_DOUBLE_EQ(automatic_checkpoint_interval(Seconds(8), 1).value(), 240);
}

TEST(CheckpointInterval, LeavesTimeToTrain) {
  EXPECT_DOUBLE_EQ(automatic_checkpoint_interval(Seconds(600), 60).value(), 1200);
}

TEST(CheckpointInterval, IsAtMostAnHour) {
  EXPECT_DOUBLE_EQ(automatic_checkpoint_interval(Seconds(600), 1e-6).value(), 3600);
  EXPECT_DOUBLE_EQ(automatic_checkpoint_interval(Seconds(600), 0).value(), 3600);
}

TEST(CheckpointInterval, IsAutomaticOnlyIfTheJobSetsNone) {
  const Seconds step(2);
  EXPECT_DOUBLE_EQ(time_between_checkpoints({.path = "/c", .every_steps = 7}, step, 1).value(), 14);
  EXPECT_DOUBLE_EQ(time_between_checkpoints({.path = "/c", .every_seconds = 60}, step, 1).value(), 62);
  EXPECT_DOUBLE_EQ(time_between_checkpoints({.path = "/c", .every_steps = 7, .every_seconds = 60}, step, 1).value(),
                   14);
  const Seconds automatic = automatic_checkpoint_interval(kAssumedCheckpointWriting, 1);
  EXPECT_DOUBLE_EQ(time_between_checkpoints({.path = "/c"}, step, 1).value(), automatic.value() + 2);
}

}  // namespace
}  // namespace sailor
