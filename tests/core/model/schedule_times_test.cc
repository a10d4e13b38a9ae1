#include "core/model/schedule_times.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/random_plans.h"

namespace sailor {
namespace {

using testing::a_random_pool_plan;
using ::testing::HasSubstr;
using testing::Random;
using testing::random_times;

struct Case {
  Plan plan;
  ScheduleTimes times;
};

Case random_case(std::uint64_t seed) {
  Random random(seed);
  Plan plan = a_random_pool_plan(random);
  ScheduleTimes times = random_times(random, plan);
  return {std::move(plan), std::move(times)};
}

// Two stages with three replicas each, two of them equal, in two link classes.
Case small_case() {
  const PoolKey pool = testing::a_key("us-central1-a", "nvidia-l4");
  const Stage stage{0, 1, {{pool, 1, 2}, {pool, 1, 2}, {pool, 1, 4}}};
  const ReplicaTimes replica{Nanoseconds(10), Nanoseconds(20), 0, 3, 1};
  const ReplicaTimes other{Nanoseconds(5), Nanoseconds(11), 1, 4};
  const LinkTimes link{Nanoseconds(7), Nanoseconds(8), Nanoseconds(9)};
  return {{"tiny-gpt2", 8, 1, {stage, stage}},
          {{{replica, replica, other}, {replica, replica, other}}, 2, {{link, link, link, link}}}};
}

std::string refusal(const Case& one, const nlohmann::json& json) {
  const auto times = schedule_times_from_json(json, one.plan, "times");
  return times ? "" : times.error().message;
}

TEST(ScheduleTimes, ReadBackAsWritten) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    const Case one = random_case(seed);
    const auto json = nlohmann::json::parse(to_json(one.times).dump());
    EXPECT_EQ(schedule_times_from_json(json, one.plan, "times").value(), one.times);
  }
}

TEST(ScheduleTimes, EqualNeighboursAreWrittenOnce) {
  const Case one = small_case();
  EXPECT_EQ(to_json(one.times)["replicas"][0].dump(), "[[2,10,20,0,3,1],[1,5,11,1,4,-1]]");
}

TEST(ScheduleTimes, AWrongNumberOfReplicasIsRefused) {
  const Case one = small_case();
  for (const int count : {1, 3, -1, 0}) {
    auto json = to_json(one.times);
    json["replicas"][1][0][0] = count;
    EXPECT_THAT(refusal(one, json), HasSubstr("times.replicas: ")) << count;
    EXPECT_THAT(refusal(one, json), HasSubstr("stage 1")) << count;
  }
  auto json = to_json(one.times);
  json["replicas"].erase(1);
  EXPECT_EQ(refusal(one, json), "times.replicas: 1 stages: that does not fit the plan");
}

// These values would lead to endless loops, too much memory or out-of-range indices.
TEST(ScheduleTimes, ValuesFromWhichNoScheduleCanBeMadeAreRefused) {
  const Case one = small_case();
  struct Damage {
    int column;
    std::int64_t value;
  };
  for (const auto& [column, value] : {Damage{1, -1}, Damage{2, -1}, Damage{3, 2}, Damage{3, -1}, Damage{4, 0},
                                      Damage{4, 1LL << 40}, Damage{5, -2}, Damage{5, 6}}) {
    auto json = to_json(one.times);
    json["replicas"][0][1][static_cast<std::size_t>(column)] = value;
    EXPECT_THAT(refusal(one, json), HasSubstr("stage 0, row [")) << column << " " << value;
  }
  auto short_row = to_json(one.times);
  short_row["replicas"][0][1].erase(5);
  EXPECT_THAT(refusal(one, short_row), HasSubstr("stage 0, row ["));
}

TEST(ScheduleTimes, AWrongNumberOfLinksIsRefused) {
  const Case one = small_case();
  for (const int count : {-1, 0, 2}) {
    auto json = to_json(one.times);
    json["links"][0][0] = count;
    EXPECT_THAT(refusal(one, json), HasSubstr("times.links: row of 13 numbers")) << count;
  }
  auto json = to_json(one.times);
  json["links"][0][4] = -1;
  EXPECT_THAT(refusal(one, json), HasSubstr("times.links: row of 13 numbers"));
  json = to_json(one.times);
  json["links"][0].erase(12);
  EXPECT_THAT(refusal(one, json), HasSubstr("times.links: row of 12 numbers"));
  json["links"] = nlohmann::json::array();
  EXPECT_THAT(refusal(one, json), HasSubstr("times.links: the plan has another number of boundaries"));
  for (const int link_classes : {0, -1, 7, 1 << 30}) {
    json = to_json(one.times);
    json["sites"] = link_classes;
    EXPECT_THAT(refusal(one, json), HasSubstr("times.")) << link_classes;
  }
}

}  // namespace
}  // namespace sailor
