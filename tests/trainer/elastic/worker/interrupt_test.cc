// A worker waits for an unresponsive peer, and meanwhile learns that the others continue without that peer.
#include <chrono>

#include <gtest/gtest.h>

#include "tests/trainer/support/assignments.h"
#include "tests/trainer/support/worker_threads.h"

namespace sailor::trainer::testing {
namespace {

constexpr std::chrono::seconds kLong{60};  // less than what a message of a job's first step may take

class Interrupted : public ::testing::Test {
 protected:
  // Rank 0 is halted before the step after this one, as if it were frozen. The other worker trains this step, and
  // waits.
  void freeze_the_first_after(std::int64_t step, const Plan& plan) {
    workers_.train(generation(job_, 1, plan, workers_.agents()), step);
    workers_.wait_until(
        1, [=](const WorkerReport& report) { return report.phase == WorkerPhase::kTraining && report.step >= step; });
  }
  void wait_for_step(int worker, std::int64_t number, std::int64_t step) {
    workers_.wait_until(worker,
                        [=](const WorkerReport& report) { return report.generation == number && report.step >= step; });
  }
  void wait_until_it_trains(int worker, std::int64_t number) {
    workers_.wait_until(worker, [=](const WorkerReport& report) {
      return report.generation == number && report.phase == WorkerPhase::kTraining;
    });
  }
  Assignment alone(int worker, std::int64_t number) {
    return generation(job_, number, plan_of(job_, {{0, 5, {8}}}),
                      {workers_.agents().at(static_cast<std::size_t>(worker))});
  }
  void end() {
    workers_.resume();
    for (const int worker : {0, 1}) workers_.lose(worker);
  }

  Scratch scratch_;
  Assignment job_ = tiny_job(scratch_.text());
  WorkerThreads workers_{2};
};

// In a job's first step nobody knows how long messages take, and they may take a minute.
TEST_F(Interrupted, ObeysAtOnceAGenerationWithoutTheUnresponsivePeer) {
  job_.training.steps = kStepsWithoutEnd;
  freeze_the_first_after(0, plan_of(job_, {{0, 5, {4, 4}}}));
  const auto began = std::chrono::steady_clock::now();
  workers_.assign(1, alone(1, 2));
  wait_until_it_trains(1, 2);
  EXPECT_LT(std::chrono::steady_clock::now() - began, kLong);
  end();
}

TEST_F(Interrupted, LosesAtMostTheStepInFlight) {
  job_.training.steps = kStepsWithoutEnd;
  freeze_the_first_after(3, plan_of(job_, {{0, 5, {4, 4}}}));
  workers_.assign(1, alone(1, 2));
  wait_until_it_trains(1, 2);
  workers_.resume();
  wait_for_step(1, 2, 5);
  EXPECT_LE(workers_.progress().steps_lost, 1);
  EXPECT_GE(workers_.progress().resumed_step, 3);
  end();
}

TEST_F(Interrupted, DoesNotHappenInAPlannedChangeWhichEndsTheStepFirst) {
  job_.training.steps = kStepsWithoutEnd;
  const Plan plan = plan_of(job_, {{0, 5, {4, 4}}});
  freeze_the_first_after(3, plan);
  const Assignment planned = generation(job_, 2, plan, workers_.agents());
  workers_.assign(1, planned);
  workers_.resume();  // the first was only slow, and learns of the change last
  wait_for_step(0, 1, 5);
  EXPECT_EQ(workers_.last(1).generation, 1);
  workers_.assign(planned);
  wait_for_step(0, 2, 7);
  EXPECT_EQ(workers_.progress().steps_lost, 0);
  end();
}

}  // namespace
}  // namespace sailor::trainer::testing
