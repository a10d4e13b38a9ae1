// Laws of the two timings of a step: by the closed form and the first rounds, as the search asks it, and operation by
// operation.
#include <algorithm>
#include <cmath>
#include <iostream>
#include <thread>

#include <gtest/gtest.h>

#include "core/schedule/make_schedule.h"
#include "simulator/fast_step_time.h"
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

enum class Shape { kEqualPipelines, kEqualReplicas, kGroups, kAllDifferent };
enum class Links { kFree, kFast, kSlow };
constexpr Shape kShapes[] = {Shape::kEqualPipelines, Shape::kEqualReplicas, Shape::kGroups, Shape::kAllDifferent};
constexpr Links kLinks[] = {Links::kFree, Links::kFast, Links::kSlow};

// Returns speeds of the replicas of a stage, which differ by up to a factor of three.
std::vector<double> random_speeds(Random& random, Shape shape, int pipelines) {
  std::vector<double> speeds;
  const auto add = [&](int count) { speeds.insert(speeds.end(), static_cast<std::size_t>(count), 0); };
  if (shape == Shape::kEqualPipelines) return std::vector<double>(static_cast<std::size_t>(pipelines), 1);
  if (shape == Shape::kEqualReplicas) return std::vector<double>(static_cast<std::size_t>(between(random, 1, 16)), 1);
  const bool differ = shape == Shape::kAllDifferent;
  const int kinds = differ ? between(random, 1, 6) : between(random, 1, 3);
  for (int kind = 0; kind < kinds; ++kind) {
    const auto before = speeds.size();
    add(differ ? 1 : between(random, 1, 12));
    std::fill(speeds.begin() + static_cast<std::ptrdiff_t>(before), speeds.end(), between(random, 100, 300));
  }
  return speeds;
}

// Gives each microbatch to the replica that would complete it first, so that shares follow speeds.
std::vector<int> partitioned(const std::vector<double>& speeds, int microbatches) {
  std::vector<int> shares(speeds.size(), 1);
  for (int left = microbatches - static_cast<int>(speeds.size()); left > 0; --left) {
    std::size_t first = 0;
    for (std::size_t r = 1; r < shares.size(); ++r) {
      if ((shares[r] + 1) / speeds[r] < (shares[first] + 1) / speeds[first]) first = r;
    }
    ++shares[first];
  }
  return shares;
}

// Makes random cases. Stages differ by up to 30 %. Links are free or up to three times as slow as a forward pass. With
// `tight` memory a stage holds one to six microbatches.
class CaseMaker {
 public:
  CaseMaker(std::uint64_t seed, Shape shape, Links links, bool tight)
      : random_(seed), shape_(shape), links_(links), tight_(tight) {}

  Case make() {
    const int stages = between(random_, 1, 8);
    const int pipelines = 1 << between(random_, 0, 5);
    const int microbatches = shape_ == Shape::kEqualPipelines
                                 ? pipelines * between(random_, 1, 1 << between(random_, 0, 6))
                                 : between(random_, 8, 1 << between(random_, 4, 9));
    Case one{{"tiny-gpt2", microbatches, 1, {}}, {}};
    for (int i = 0; i < stages; ++i) add_stage(one, pipelines);
    for (int i = 0; i < stages; ++i) one.times.links.push_back({random_link(one.times)});
    return one;
  }

 private:
  void add_stage(Case& one, int pipelines) {
    const double imbalance = 1 + 0.1 * between(random_, 0, 3);
    std::vector<double> speeds = random_speeds(random_, shape_, pipelines);
    if (std::ssize(speeds) > one.plan.microbatches()) speeds.resize(static_cast<std::size_t>(one.plan.microbatches()));
    const std::vector<int> shares = partitioned(speeds, one.plan.microbatches());
    double all = 0;
    for (const double speed : speeds) all += speed;
    const auto index = static_cast<int>(one.plan.stages.size());
    Stage stage{index, index + 1, {}};
    auto& replicas = one.times.replicas.emplace_back();
    const int cap = tight_ ? between(random_, 1, 6) : 1'000'000;
    for (std::size_t r = 0; r < shares.size(); ++r) {
      const double part = shape_ == Shape::kEqualPipelines ? 1 : speeds[r] / all;
      const auto forward = static_cast<std::int64_t>(imbalance * 1e5 / part);
      replicas.push_back({Nanoseconds(forward), Nanoseconds(2 * forward), 0, cap});
      stage.replicas.push_back({testing::a_key("us-central1-a", "nvidia-l4"), 1, shares[r]});
    }
    one.plan.stages.push_back(std::move(stage));
  }

  LinkTimes random_link(const ScheduleTimes& times) {
    double pass = 0;
    for (const ReplicaTimes& replica : times.replicas.front()) pass += static_cast<double>(replica.forward.count());
    pass /= static_cast<double>(times.replicas.front().size());
    const double way = between(random_, 0, 1000) / 1000.0;
    const double latency = between(random_, 0, 1000) / 1000.0;
    if (links_ == Links::kFree) return {};
    const double length = pass * (links_ == Links::kFast ? 0.3 * way : 0.3 + 2.7 * way);
    return {Nanoseconds(std::llround(length * latency)), Nanoseconds(std::llround(length * (1 - latency)))};
  }

  Random random_;
  Shape shape_;
  Links links_;
  bool tight_;
};

// Returns the plan as the search sees it: equal replicas form a group with a count.
std::vector<StageTiming> grouped(const Case& one) {
  const auto caps = in_flight_caps(one.plan, one.times, SchedulePolicy::kFlow);
  std::vector<StageTiming> stages(one.plan.stages.size());
  for (std::size_t i = 0; i < stages.size(); ++i) {
    auto& groups = stages[i].groups;
    for (std::size_t r = 0; r < caps[i].size(); ++r) {
      const GroupTiming group{.forward = static_cast<double>(one.times.replicas[i][r].forward.count()) * 1e-9,
                              .backward = static_cast<double>(one.times.replicas[i][r].backward.count()) * 1e-9,
                              .microbatches = one.plan.stages[i].replicas[r].microbatches,
                              .count = 1,
                              .cap = caps[i][r]};
      const auto same = std::ranges::find_if(groups, [&](const GroupTiming& other) {
        return other.forward == group.forward && other.microbatches == group.microbatches && other.cap == group.cap;
      });
      same == groups.end() ? groups.push_back(group) : void(++same->count);
    }
  }
  for (std::size_t i = 0; i + 1 < stages.size(); ++i) {
    const LinkTimes& link = one.times.links[i].front();
    stages[i].links.assign(
        stages[i].groups.size() * stages[i + 1].groups.size(),
        {static_cast<double>(link.latency.count()) * 1e-9, static_cast<double>(link.occupancy.count()) * 1e-9});
  }
  set_means(stages, one.plan.microbatches());
  return stages;
}

double fast(const Case& one) { return fast_step_time(grouped(one), one.plan.microbatches()); }

StepTiming simulated(const Case& one) {
  return time_step(make_schedule(one.plan, one.times, SchedulePolicy::kFlow), one.times, {});
}

double exact(const Case& one) { return static_cast<double>(simulated(one).passes_end().count()) * 1e-9; }

struct Spread {
  double mean = 0;
  double percentile_95 = 0;
};

Spread difference(bool tight) {
  constexpr int kPlansOfEachKind = 120;
  std::vector<double> differences;
  std::uint64_t seed = 0;
  for (const Shape shape : kShapes) {
    for (const Links links : kLinks) {
      for (int i = 0; i < kPlansOfEachKind; ++i) {
        const Case one = CaseMaker(++seed, shape, links, tight).make();
        differences.push_back(std::abs(fast(one) / exact(one) - 1));
      }
    }
  }
  std::ranges::sort(differences);
  Spread spread{0, differences[differences.size() * 95 / 100]};
  for (const double one : differences) spread.mean += one / static_cast<double>(differences.size());
  std::cout << "difference of the timings on " << differences.size() << " plans: mean " << 100 * spread.mean
            << " %, 95th percentile " << 100 * spread.percentile_95 << " %\n";
  return spread;
}

TEST(TimingLaws, WhereMemoryLeavesRoomTheFastTimingIsWithin3PercentInTheMeanAnd8AtThe95thPercentile) {
  const Spread spread = difference(false);
  EXPECT_LE(spread.mean, 0.03);
  EXPECT_LE(spread.percentile_95, 0.08);
}

TEST(TimingLaws, WhereMemoryIsTightTheFastTimingIsWithin8PercentInTheMeanAnd20AtThe95thPercentile) {
  const Spread spread = difference(true);
  EXPECT_LE(spread.mean, 0.08);
  EXPECT_LE(spread.percentile_95, 0.20);
}

// Steps of 1,000 to 65,000 microbatches, of which the first quarter is simulated.
TEST(TimingLaws, TheBeginningOfALongStepTellsItsLengthWithin1PercentInTheMean) {
  double sum = 0;
  double most = 0;
  constexpr int kPlans = 48;
  for (std::uint64_t seed = 1; seed <= kPlans; ++seed) {
    Case one = CaseMaker(seed, kShapes[seed % 4], kLinks[seed % 3], seed % 2 == 0).make();
    one.plan.global_batch_size *= 128;
    for (Stage& stage : one.plan.stages) {
      for (Replica& replica : stage.replicas) replica.microbatches *= 128;
    }
    const int passes = one.plan.microbatches() * static_cast<int>(one.plan.stages.size()) / 2;
    const double difference = std::abs(long_step_time(grouped(one), one.plan.microbatches(), passes) / exact(one) - 1);
    sum += difference;
    most = std::max(most, difference);
  }
  std::cout << "difference of long steps: mean " << 100 * sum / kPlans << " %, largest " << 100 * most << " %\n";
  EXPECT_LE(sum / kPlans, 0.01);
  EXPECT_LE(most, 0.1);
}

Case a_case(std::uint64_t seed) { return CaseMaker(seed, kShapes[seed % 4], kLinks[seed % 3], seed % 2 == 0).make(); }

TEST(TimingLaws, ALimitEndsTheFastTimingOnlyOfStepsThatReachIt) {
  int reached = 0;
  for (std::uint64_t seed = 1; seed <= 600; ++seed) {
    const Case one = a_case(seed);
    const std::vector<StageTiming> stages = grouped(one);
    const int microbatches = one.plan.microbatches();
    const double seconds = fast_step_time(stages, microbatches);
    for (const double factor : {0.5, 0.9, 0.99, 0.999999}) {
      const double limited = fast_step_time(stages, microbatches, factor * seconds);
      EXPECT_GE(limited, factor * seconds) << "seed " << seed << ", " << factor << " of the time";
      reached += limited < seconds ? 1 : 0;
    }
    for (const double factor : {1.000001, 1.1, 2.0, 1e300}) {
      EXPECT_EQ(fast_step_time(stages, microbatches, factor * seconds), seconds)
          << "seed " << seed << ", " << factor << " of the time";
    }
  }
  EXPECT_GT(reached, 300);  // these were ended
}

// Both differ only if a message waits for a buffer at its receiver, because the lists do not contain that wait.
TEST(TimingLaws, TheStepTakesAsLongAsItsScheduleSays) {
  double sum = 0;
  constexpr int kPlans = 300;
  for (std::uint64_t seed = 1; seed <= kPlans; ++seed) {
    const Case one = a_case(seed);
    const Schedule schedule = make_schedule(one.plan, one.times, SchedulePolicy::kFlow);
    const auto length = static_cast<double>(time_step(schedule, one.times, {}).passes_end().count());
    sum += std::abs(length / static_cast<double>(schedule.duration.count()) - 1);
  }
  EXPECT_LE(sum / kPlans, 0.005);
}

// All messages take half as long, or almost no time.
TEST(TimingLaws, MoreBandwidthIsNeverSlowerForAFixedSchedule) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    const Case one = a_case(seed);
    const Schedule schedule = make_schedule(one.plan, one.times, SchedulePolicy::kFlow);
    const Nanoseconds before = time_step(schedule, one.times, {}).end();
    for (const int divisor : {2, 1'000'000'000}) {
      ScheduleTimes faster = one.times;
      for (auto& boundary : faster.links) {
        for (LinkTimes& link : boundary) link.occupancy /= divisor;
      }
      ASSERT_LE(time_step(schedule, faster, {}).end(), before) << "seed " << seed << ", bandwidth times " << divisor;
    }
  }
}

TEST(TimingLaws, TheSameInputGivesTheSameOutputBitForBitOnAnyNumberOfThreads) {
  constexpr std::uint64_t kPlans = 60;
  std::vector<double> alone;
  for (std::uint64_t seed = 1; seed <= kPlans; ++seed) alone.push_back(fast(a_case(seed)) + exact(a_case(seed)));
  std::vector<std::vector<double>> together(4);
  {
    std::vector<std::jthread> threads;
    for (auto& results : together) {
      threads.emplace_back([&results] {
        for (std::uint64_t seed = 1; seed <= kPlans; ++seed)
          results.push_back(fast(a_case(seed)) + exact(a_case(seed)));
      });
    }
  }
  for (const auto& results : together) EXPECT_EQ(results, alone);
}

}  // namespace
}  // namespace sailor
