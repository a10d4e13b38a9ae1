// Jobs that look ahead, in replays.
#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "tests/planner/replay/replays.h"

namespace sailor {
namespace {

using testing::a_cluster;
using testing::a_long_job;
using testing::at_once;
using testing::four_nodes;
using testing::kSpotPool;
using testing::replayed;
using testing::trace_of;

ReplayOptions looking_on() {
  ReplayOptions options = at_once();
  options.look_ahead = LookAhead::kOn;
  return options;
}

// The fourth node comes every 100 s and leaves 50 s later.
std::vector<int> short_visits(int count) {
  std::vector<int> nodes;
  for (int i = 0; i < count; ++i) nodes.insert(nodes.end(), {3, 4});
  return nodes;
}

// A restart takes 60 s, so a visit of 50 s is never worth one.
TEST(LookAheadReplay, AJobThatRestartsLeavesOutNodesThatNeverStayLong) {
  const Trace trace = trace_of(short_visits(100), 50);
  const auto without = replayed(a_long_job(), trace, ReplayPolicy::kRestart, at_once());
  const auto with = replayed(a_long_job(), trace, ReplayPolicy::kRestartAhead, at_once());
  EXPECT_GT(with.steps, 2 * without.steps);
  EXPECT_LT(with.changes, without.changes);
}

TEST(LookAheadReplay, ANodeThatStaysIsUsedInTheEndWhateverTheHistorySays) {
  std::vector<int> nodes = short_visits(50);
  nodes.insert(nodes.end(), 100, 4);
  const auto report = replayed(a_long_job(), trace_of(nodes, 50), ReplayPolicy::kRestartAhead, looking_on());
  EXPECT_EQ(report.periods.back().used_gpus, 4);
}

TEST(LookAheadReplay, OnSteadyNodesAJobThatLooksAheadDoesTheSame) {
  for (const LookAhead look_ahead : {LookAhead::kOn, LookAhead::kAuto}) {
    ReplayOptions options = at_once();
    options.look_ahead = look_ahead;
    const Trace trace = trace_of({4, 3, 4}, 20'000);
    EXPECT_EQ(replayed(a_long_job(), trace, ReplayPolicy::kLiveAhead, options).steps,
              replayed(a_long_job(), trace, ReplayPolicy::kLive, options).steps);
  }
}

TEST(LookAheadReplay, AutoDoesTheSameAsOffUntilItHasSeenEnoughDrops) {
  const Trace trace = trace_of({4, 3, 4, 2, 4}, 100);
  EXPECT_EQ(replayed(a_long_job(), trace, ReplayPolicy::kRestartAhead, at_once()).steps,
            replayed(a_long_job(), trace, ReplayPolicy::kRestart, at_once()).steps);
}

std::vector<int> random_counts(std::mt19937_64& draw, std::size_t length, int least, int most) {
  std::vector<int> counts(length);
  std::ranges::generate(counts,
                        [&] { return least + static_cast<int>(draw() % static_cast<unsigned>(most - least + 1)); });
  return counts;
}

// When plans began to run before 2,000 s, and which.
std::vector<std::pair<double, std::string>> early_plans(const std::vector<int>& counts, ReplayPolicy policy) {
  std::vector<std::pair<double, std::string>> plans;
  for (const ReplayPeriod& period : replayed(a_long_job(), trace_of(counts, 50), policy, looking_on()).periods) {
    if (period.from < Seconds(2000)) plans.emplace_back(period.from.value(), period.plan);
  }
  return plans;
}

// The traces are equal until 2,000 s.
TEST(LookAheadReplay, TheFutureOfTheTraceDoesNotChangeADecision) {
  std::mt19937_64 draw(3);
  for (int world = 0; world < 10; ++world) {
    const std::vector<int> nodes = random_counts(draw, 80, 0, 4);
    std::vector<int> other = nodes;
    std::ranges::copy(random_counts(draw, 40, 0, 4), other.begin() + 40);
    for (const ReplayPolicy policy : {ReplayPolicy::kLiveAhead, ReplayPolicy::kRestartAhead}) {
      EXPECT_EQ(early_plans(nodes, policy), early_plans(other, policy)) << world << ", " << to_string(policy);
    }
  }
}

// Eight nodes of eight GPUs and a model of 209 GB, whose state does not move within a notice.
TEST(LookAheadReplay, AJobThatLosesNodesOftenSavesItsStateMoreOften) {
  const PoolKey pool = testing::a_key("us-central1-a", "nvidia-tesla-a100", Provisioning::kSpot);
  const ClusterState cluster = a_cluster().pool("us-central1-a", "nvidia-tesla-a100", 8, 8, Provisioning::kSpot);
  JobSpec job = a_long_job();
  job.model = find_model("opt-13b").value();
  job.training.global_batch_size = 256;
  job.checkpoint = {"/checkpoints", std::nullopt, 3};
  job.redundancy = Redundancy::kAuto;
  std::mt19937_64 draw(5);
  const Trace trace = trace_of(random_counts(draw, 120, 6, 8), 180);
  const Simulator simulator;
  Replay replay = Replay::make(job, cluster, {{pool, trace}}, simulator, {}).value();
  const auto without = replay.run(ReplayPolicy::kLive).value();
  const auto with = replay.run(ReplayPolicy::kLiveAhead).value();
  EXPECT_GT(with.steps, 1.1 * without.steps);
  EXPECT_LT(with.lost_to(LostTime::kRepeating), without.lost_to(LostTime::kRepeating) * 0.7);
}

}  // namespace
}  // namespace sailor
