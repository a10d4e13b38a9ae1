// How long a job was to train, and how much of it went into steps that count.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/operator/world.h"

namespace sailor::testing {
namespace {

class Goodput : public ::testing::Test {
 protected:
  void SetUp() override {
    world.add_node("a", 2);
    world.add_job();
    world.settle();
  }
  void comes_to(std::int64_t step, double step_seconds, std::chrono::seconds after) {
    for (auto& [uid, agent] : world.agents) {
      if (!agent.report->progress) continue;
      agent.report->progress->step = step;
      agent.report->progress->step_seconds = step_seconds;
    }
    world.pass(after);
    world.reconcile();
  }
  [[nodiscard]] double seconds(const char* which) const {
    return std::stod(world.status()["progress"].value(which, "0"));
  }
  World world;
};

TEST_F(Goodput, IsTheTimeOfStepsThatCountOverAllTime) {
  const std::int64_t first = world.status()["progress"]["step"].get<std::int64_t>();
  comes_to(first + 10, 2.0, std::chrono::seconds(40));
  EXPECT_DOUBLE_EQ(seconds("usefulSeconds"), 20);
  EXPECT_DOUBLE_EQ(seconds("elapsedSeconds"), 40);
}

TEST_F(Goodput, StepThatIsDoneAgainCountsOnce) {
  const std::int64_t first = world.status()["progress"]["step"].get<std::int64_t>();
  comes_to(first + 10, 2.0, std::chrono::seconds(20));
  comes_to(first + 4, 2.0, std::chrono::seconds(10));  // the job has resumed from a checkpoint
  EXPECT_DOUBLE_EQ(seconds("usefulSeconds"), 20);
  comes_to(first + 12, 2.0, std::chrono::seconds(16));
  EXPECT_DOUBLE_EQ(seconds("usefulSeconds"), 24);
  EXPECT_DOUBLE_EQ(seconds("elapsedSeconds"), 46);
}

TEST_F(Goodput, NewOperatorContinuesTheCount) {
  const std::int64_t first = world.status()["progress"]["step"].get<std::int64_t>();
  comes_to(first + 10, 2.0, std::chrono::seconds(20));
  world.restart_operator();
  comes_to(first + 30, 2.0, std::chrono::seconds(60));  // for most of this time no operator ran
  EXPECT_DOUBLE_EQ(seconds("usefulSeconds"), 60);
  EXPECT_DOUBLE_EQ(seconds("elapsedSeconds"), 80);
}

TEST_F(Goodput, StepsNeverCountForMoreTimeThanHasPassed) {
  const std::int64_t first = world.status()["progress"]["step"].get<std::int64_t>();
  comes_to(first + 10, 5.6, std::chrono::seconds(40));  // an older trainer reports a mean with a downtime in it
  EXPECT_DOUBLE_EQ(seconds("usefulSeconds"), 40);
  EXPECT_DOUBLE_EQ(seconds("elapsedSeconds"), 40);
}

TEST_F(Goodput, DowntimeIsNotUseful) {
  const std::int64_t first = world.status()["progress"]["step"].get<std::int64_t>();
  comes_to(first + 10, 2.0, std::chrono::seconds(20));
  comes_to(first + 10, 2.0, std::chrono::seconds(36));  // nobody computes a step
  comes_to(first + 20, 2.0, std::chrono::seconds(20));
  EXPECT_DOUBLE_EQ(seconds("usefulSeconds"), 40);
  EXPECT_DOUBLE_EQ(seconds("elapsedSeconds"), 76);
}

TEST_F(Goodput, SuspendedTimeDoesNotCount) {
  const std::int64_t first = world.status()["progress"]["step"].get<std::int64_t>();
  comes_to(first + 10, 2.0, std::chrono::seconds(20));
  world.change_job([](Json& job) { job["spec"]["suspend"] = true; });
  world.settle();
  world.pass(std::chrono::hours(8));
  world.change_job([](Json& job) { job["spec"]["suspend"] = false; });
  world.settle();
  EXPECT_DOUBLE_EQ(seconds("elapsedSeconds"), 20);
}

}  // namespace
}  // namespace sailor::testing
