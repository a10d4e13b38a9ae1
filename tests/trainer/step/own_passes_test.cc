// How long a worker's own passes take: what shows which worker is slow.
#include <chrono>
#include <thread>

#include <ATen/record_function.h>
#include <gtest/gtest.h>

#include "tests/trainer/support/assignments.h"
#include "tests/trainer/support/training.h"
#include "trainer/step/recent_passes.h"

namespace sailor::trainer::testing {
namespace {

constexpr auto kDelay = std::chrono::microseconds(50);  // of each operation on a slow worker

std::unique_ptr<at::ObserverContext> wait_a_moment(const at::RecordFunction&) {
  std::this_thread::sleep_for(kDelay);
  return nullptr;
}

// Makes this rank slow: each of its linear layers takes longer. The worker's thread makes the group, so the callback is
// that of its thread.
Wrap slowing(int slow_rank) {
  return [slow_rank](std::unique_ptr<Group> group, const std::string& name, int rank) {
    if (rank == slow_rank && name.starts_with("tensor-parallel")) {
      at::addThreadLocalCallback(at::RecordFunctionCallback(wait_a_moment)
                                     .scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION}));
    }
    return group;
  };
}

std::map<int, double> microbatch_seconds(const std::vector<StageShares>& stages, int slow_rank) {
  const Scratch scratch;
  Assignment job = tiny_job(scratch.text());
  job.training.steps = 2;  // the first one warms up
  return train(job, plan_of(job, stages), {.wrap = slowing(slow_rank)}).microbatch_seconds;
}

TEST(OwnPasses, NameTheSlowMemberOfATensorParallelGroup) {
  const auto seconds = microbatch_seconds({{0, 5, {8}, {2}}}, 1);
  EXPECT_GT(seconds.at(1), 3 * seconds.at(0)) << "its peer waits for it in every collective";
}

TEST(OwnPasses, NameTheSlowStageOfAPipeline) {
  const auto seconds = microbatch_seconds({{0, 3, {8}}, {3, 5, {8}}}, 0);
  EXPECT_GT(seconds.at(0), 3 * seconds.at(1)) << "the second stage waits for its messages";
}

TEST(OwnPasses, AreTheMeanOverTheStepsOfTheLastSecond) {
  RecentPasses passes;
  EXPECT_FALSE(passes.microbatch_seconds());
  passes.note({.seconds = 9, .own = 9, .microbatches = 1});
  EXPECT_FALSE(passes.microbatch_seconds()) << "the first step warms up";
  passes.note({.seconds = 0.6, .own = 0.2, .microbatches = 2});
  EXPECT_DOUBLE_EQ(passes.microbatch_seconds().value(), 0.1);
  passes.note({.seconds = 0.6, .own = 0.6, .microbatches = 2});
  EXPECT_DOUBLE_EQ(passes.microbatch_seconds().value(), 0.2);
  passes.note({.seconds = 0.6, .own = 0.6, .microbatches = 2});
  EXPECT_DOUBLE_EQ(passes.microbatch_seconds().value(), 0.3) << "the last two steps are longer than a second";
  passes.note({.seconds = 5, .own = 0.8, .microbatches = 2});
  EXPECT_DOUBLE_EQ(passes.microbatch_seconds().value(), 0.4) << "the last step is longer than a second";
}

}  // namespace
}  // namespace sailor::trainer::testing
