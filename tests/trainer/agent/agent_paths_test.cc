// The path between two pods breaks. Both still answer the operator, whose part the test plays.
#include <chrono>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/trainer/support/agents_in_network.h"

namespace sailor::trainer::testing {
namespace {

using ::testing::IsEmpty;
using Clock = std::chrono::steady_clock;

std::string milliseconds_of(Clock::duration time) { return std::to_string(time / std::chrono::milliseconds(1)); }

using BrokenPath = AgentsInNetwork;

// Pod 3 is not one of the two that pod 0 always watches.
TEST_F(BrokenPath, IsNoticedByThePodsAtItsEndsAndTheOthersContinueWithoutOneOfThem) {
  const Assignment job = this->job(100'000);
  start_in_network(4);
  assign(job, 1, {{0, 5, {2, 2, 2, 2}}}, {0, 1, 2, 3});
  wait_for_step(0, 1, 2);
  const auto cut = Clock::now();
  network_->cut_between({0, 3});
  wait_until_missed(0, 3);
  wait_until_missed(3, 0);
  const auto noticed = Clock::now();
  for (const std::size_t agent : {0, 1, 2, 3}) wait_for_phase(agent, WorkerPhase::kBroken);
  const auto broken = Clock::now();
  for (const std::size_t agent : {1, 2}) EXPECT_THAT(agents_[agent]->report().unresponsive_peers, IsEmpty());
  assign(job, 2, {{0, 5, {3, 3, 2}}}, {0, 1, 2});
  const JobProgress progress = wait_for_step(0, 2, 1);
  const auto trained = Clock::now();
  EXPECT_LE(progress.steps_lost, 1);
  const WorkerReport left_out = agents_[3]->report().workers.front();
  EXPECT_EQ(left_out.phase, WorkerPhase::kBroken) << "it trains on alone";
  EXPECT_LE(left_out.step, progress.resumed_step) << "what it has done is lost";
  RecordProperty("noticed_ms", milliseconds_of(noticed - cut));
  RecordProperty("broken_ms", milliseconds_of(broken - cut));
  RecordProperty("regrouped_ms", milliseconds_of(trained - broken));
}

}  // namespace
}  // namespace sailor::trainer::testing
