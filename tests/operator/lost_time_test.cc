// Where the time of a job goes that is not useful.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/operator/world.h"

namespace sailor::testing {
namespace {

class LostTime : public ::testing::Test {
 protected:
  void SetUp() override {
    world.add_node("a", 2);
    world.add_job();
    world.settle();
    first = world.status()["progress"]["step"].get<std::int64_t>();
  }
  // Each step usually takes two seconds, but the job may need longer.
  void comes_to(std::int64_t step, std::chrono::seconds after, double step_seconds = 2) {
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
  [[nodiscard]] double lost(const std::string& cause) const {
    const Json lost = world.status()["progress"].value("lostSeconds", Json::object());
    return std::stod(lost.value(cause, "0"));
  }
  [[nodiscard]] double accounted() const {
    double sum = seconds("usefulSeconds");
    for (const LostCause cause : kLostCauses) sum += lost(std::string(to_string(cause)));
    return sum;
  }
  World world;
  std::int64_t first = 0;
};

TEST_F(LostTime, JobThatTrainsAsUsualLosesNothing) {
  comes_to(first + 10, std::chrono::seconds(20));
  comes_to(first + 19, std::chrono::seconds(20));  // the next step is nearly done
  comes_to(first + 30, std::chrono::seconds(20));
  EXPECT_DOUBLE_EQ(accounted(), 60);
  EXPECT_DOUBLE_EQ(seconds("usefulSeconds"), 60);
}

TEST_F(LostTime, StepsNeverCountForMoreTimeThanHasPassed) {
  comes_to(first + 10, std::chrono::seconds(12));
  EXPECT_DOUBLE_EQ(seconds("usefulSeconds"), 12);
  EXPECT_DOUBLE_EQ(accounted(), 12);
}

TEST_F(LostTime, LongStepCountsWholeAlthoughTheStatusIsWrittenMeanwhile) {
  comes_to(first + 1, std::chrono::seconds(60), 60);
  comes_to(first + 1, std::chrono::seconds(30), 60);
  comes_to(first + 1, std::chrono::seconds(29), 60);
  comes_to(first + 2, std::chrono::seconds(1), 60);
  EXPECT_DOUBLE_EQ(seconds("usefulSeconds"), 120);
  EXPECT_DOUBLE_EQ(lost("stalled"), 0);
}

TEST_F(LostTime, StepsThatTakeLongerThanUsualAreAStall) {
  comes_to(first + 10, std::chrono::seconds(120));
  EXPECT_DOUBLE_EQ(lost("stalled"), 100 - 4) << "two steps may still be in flight";
}

TEST(LostTimeOfAPausedJob, IsWaitingAndThenStarting) {
  World world;
  world.add_node("a", 2);
  world.add_node("b", 1);
  world.add_job({{"resources", {{"minGpus", 3}}}, {"checkpoint", {{"path", "/checkpoints"}}}});
  world.settle();
  world.preempt("b");
  world.settle();
  ASSERT_EQ(world.state(), "Waiting");
  world.pass(std::chrono::hours(1));
  world.agents_hang = true;  // so that the start takes long
  world.add_node("c", 1);
  world.settle();
  world.pass(std::chrono::minutes(1));
  world.agents_hang = false;
  world.settle();
  const Json lost = world.status()["progress"]["lostSeconds"];
  EXPECT_EQ(lost.value("waiting", ""), "3600.000") << lost.dump();
  EXPECT_EQ(lost.value("starting", ""), "60.000") << lost.dump();
}

TEST_F(LostTime, BeforeTheFirstStepIsStarting) {
  World slow;
  slow.add_node("a", 2);
  slow.agents_hang = true;
  slow.add_job();
  slow.settle();
  slow.pass(std::chrono::minutes(5));
  slow.settle();
  ASSERT_EQ(slow.state(), "Starting");
  EXPECT_EQ(slow.status()["progress"]["lostSeconds"]["starting"], "300.000");
}

TEST_F(LostTime, StepsThatAreDoneAgainAreRepeating) {
  comes_to(first + 10, std::chrono::seconds(20));
  comes_to(first + 4, std::chrono::seconds(10));  // the job has resumed from a checkpoint
  comes_to(first + 12, std::chrono::seconds(16));
  EXPECT_DOUBLE_EQ(lost("repeating"), 12);
  EXPECT_NEAR(accounted(), seconds("elapsedSeconds"), 4);
}

TEST_F(LostTime, SuspendedTimeIsNotLost) {
  comes_to(first + 10, std::chrono::seconds(20));
  world.change_job([](Json& job) { job["spec"]["suspend"] = true; });
  world.settle();
  world.pass(std::chrono::hours(8));
  world.settle();
  EXPECT_DOUBLE_EQ(accounted(), 20);
}

TEST_F(LostTime, NewOperatorContinuesTheCount) {
  comes_to(first + 10, std::chrono::seconds(120));
  world.restart_operator();
  comes_to(first + 20, std::chrono::seconds(20));
  EXPECT_DOUBLE_EQ(lost("stalled"), 100 - 4);
}

}  // namespace
}  // namespace sailor::testing
