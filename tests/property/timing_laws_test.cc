// The two timings held together: the closed form that the search asks, and the step played operation by operation.
#include <algorithm>
#include <cmath>
#include <iostream>

#include <gtest/gtest.h>

#include "simulator/pipeline_time.h"
#include "simulator/step_timing.h"
#include "tests/support/random_plans.h"

namespace sailor {
namespace {

using testing::between;
using testing::Random;

struct Case {
  Plan plan;
  ScheduleTimes times;
};

// Replicas up to three times apart with shares that follow their speeds, stages up to 30 % apart; links from free to
// nearly as slow as a pass. One site.
Case a_case(std::uint64_t seed, bool tight_memory) {
  Random random(seed);
  const int stages = between(random, 1, 6);
  const int microbatches = between(random, 8, 96);
  const int link = between(random, 0, 2) * between(random, 0, 100'000);
  Case one{{"tiny-gpt2", microbatches, 1, {}}, {}};
  for (int i = 0; i < stages; ++i) {
    Stage stage{i, i + 1, {}};
    auto& replicas = one.times.replicas.emplace_back();
    const int count = between(random, 1, 6);
    const double imbalance = 1 + 0.1 * between(random, 0, 3);
    std::vector<double> speeds;
    double speed_of_all = 0;
    for (int r = 0; r < count; ++r) speeds.push_back(between(random, 100, 300));
    for (const double speed : speeds) speed_of_all += speed;
    int left = microbatches;
    for (int r = 0; r < count; ++r) {
      const double part = speeds[static_cast<std::size_t>(r)] / speed_of_all;
      const int share = r + 1 == count
                            ? left
                            : std::clamp(static_cast<int>(std::lround(part * microbatches)), 1, left - (count - r - 1));
      left -= share;
      const auto forward = static_cast<std::int64_t>(imbalance * 1e5 / part);
      replicas.push_back(
          {Nanoseconds(forward), Nanoseconds(2 * forward), 0, tight_memory ? between(random, 1, 6) : 1'000'000});
      stage.replicas.push_back({testing::a_key("us-central1-a", "nvidia-l4"), 1, share});
    }
    one.plan.stages.push_back(std::move(stage));
    one.times.links.push_back({{Nanoseconds(link), Nanoseconds(link / 2)}});
  }
  return one;
}

double closed_form(const Case& one) {
  const auto caps = in_flight_caps(one.plan, one.times, SchedulePolicy::kFlow);
  std::vector<StageTiming> stages(one.plan.stages.size());
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const LinkTimes& link = one.times.links[i].front();
    const auto occupancy = static_cast<double>(link.occupancy.count());
    const bool is_last = i + 1 == stages.size();
    stages[i].link = is_last ? 0 : static_cast<double>(link.latency.count()) + occupancy;
    for (std::size_t r = 0; r < one.times.replicas[i].size(); ++r) {
      const ReplicaTimes& times = one.times.replicas[i][r];
      const int neighbours = (i > 0 ? 1 : 0) + (is_last ? 0 : 1);
      stages[i].groups.push_back({.forward = static_cast<double>(times.forward.count()),
                                  .backward = static_cast<double>(times.backward.count()),
                                  .occupancy = neighbours * occupancy,
                                  .microbatches = one.plan.stages[i].replicas[r].microbatches,
                                  .count = 1,
                                  .cap = caps[i][r]});
    }
  }
  set_means(stages, one.plan.microbatches());
  return pipeline_time(stages);
}

double played(const Case& one) {
  const Schedule schedule = make_schedule(one.plan, one.times, SchedulePolicy::kFlow);
  return static_cast<double>(time_step(schedule, one.times, {}).passes_end().count());
}

struct Spread {
  double mean = 0;
  double percentile_95 = 0;
};

Spread difference(bool tight_memory) {
  std::vector<double> differences;
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    const Case one = a_case(seed, tight_memory);
    differences.push_back(std::abs(closed_form(one) / played(one) - 1));
  }
  std::ranges::sort(differences);
  Spread spread{0, differences[differences.size() * 95 / 100]};
  for (const double one : differences) spread.mean += one / static_cast<double>(differences.size());
  std::cout << "difference of the timings on seeds 1 to 1000: mean " << 100 * spread.mean << " %, 95th percentile "
            << 100 * spread.percentile_95 << " %\n";
  return spread;
}

// The closed form errs on the slow side for pools of unequal replicas: what it is off by there is stated, so that it
// can only get better. Aim: 3 and 8 %.
TEST(TimingLaws, WhereMemoryLeavesRoomTheFastTimingDiffersByAnEighthInTheMean) {
  const Spread spread = difference(false);
  EXPECT_LE(spread.mean, 0.13);
  EXPECT_LE(spread.percentile_95, 0.27);
}

TEST(TimingLaws, WhereMemoryIsTightTheFastTimingDiffersByASixteenthInTheMean) {
  const Spread spread = difference(true);
  EXPECT_LE(spread.mean, 0.0625);
  EXPECT_LE(spread.percentile_95, 0.18);
}

TEST(TimingLaws, OverFreeLinksTheStepTakesAsLongAsItsScheduleSays) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Case one = a_case(seed, seed % 2 == 0);
    for (auto& boundary : one.times.links) boundary = {LinkTimes{}};
    const Schedule schedule = make_schedule(one.plan, one.times, SchedulePolicy::kFlow);
    ASSERT_EQ(time_step(schedule, one.times, {}).passes_end(), schedule.duration) << "seed " << seed;
  }
}

}  // namespace
}  // namespace sailor
