// Histories that can be computed by hand, and laws of all histories.
#include "planner/replan/node_history.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>

#include <gtest/gtest.h>

#include "planner/replan/look_ahead.h"

namespace sailor {
namespace {

constexpr Seconds kAssumed{24 * 3600};

NodeHistory history_of(int nodes) {
  NodeHistory history;
  history.nodes = nodes;
  return history;
}

TEST(NodeHistory, WithoutAHistoryTheAssumedLifetimeIsExpected) {
  EXPECT_EQ(NodeHistory().node_lifetime(kAssumed), kAssumed);
  EXPECT_EQ(NodeHistory().nodes_per_drop(), 1);
  EXPECT_EQ(NodeHistory().arrivals_per_second(), 0);
}

// Within a half-life, the time of a node counts 1 / (2 ln 2) of itself on average.
TEST(NodeHistory, NodesThatStillExistCountWithTheTimeThatTheyHaveLived) {
  NodeHistory history = history_of(10);
  history.pass_until(kHistoryHalfLife);
  const double node_seconds = 10 * kHistoryHalfLife.value() / (2 * std::numbers::ln2);
  EXPECT_NEAR(history.node_time.value(), node_seconds, 1e-6);
  EXPECT_NEAR(history.node_lifetime(kAssumed).value(), node_seconds / kAssumedLosses + kAssumed.value(), 1e-6);
}

TEST(NodeHistory, ALossShortensTheExpectedLifetime) {
  NodeHistory history = history_of(10);
  history.add_lost(Seconds(0), 2);
  EXPECT_EQ(history.nodes, 8);
  EXPECT_DOUBLE_EQ(history.node_lifetime(kAssumed).value(), kAssumed.value() * 0.25 / 2.25);
  EXPECT_DOUBLE_EQ(history.nodes_per_drop(), 3.0 / 2);
}

// After a long time, nodes that live for 1,000 s each are expected to live for that long.
TEST(NodeHistory, TheLifetimeOfManyNodesIsLearnt) {
  NodeHistory history = history_of(20);
  for (int i = 1; i <= 3000; ++i) {
    history.add_lost(Seconds(50.0 * i), 1);
    history.add_joined(Seconds(50.0 * i), 1);
  }
  EXPECT_NEAR(history.node_lifetime(kAssumed).value(), 1000, 120);
  EXPECT_NEAR(history.interruptions_per_second(20, kAssumed), 1 / 50.0, 0.003);
  EXPECT_NEAR(history.interruptions_per_second(10, kAssumed), 1 / 100.0, 0.0015);
  EXPECT_NEAR(history.arrivals_per_second(), 1 / 50.0, 1e-3);
}

TEST(NodeHistory, WhatHasBeenSeenFadesSoThatACalmMarketIsTrustedAgain) {
  NodeHistory history = history_of(10);
  for (int i = 1; i <= 100; ++i) {
    history.add_lost(Seconds(60.0 * i), 1);
    history.add_joined(Seconds(60.0 * i), 1);
  }
  const Seconds before = history.node_lifetime(kAssumed);
  history.pass_until(history.at + kHistoryHalfLife * 10);
  EXPECT_LT(before, Seconds(1200));
  EXPECT_GT(history.node_lifetime(kAssumed), kAssumed);
  EXPECT_LT(history.drops, 0.1);
}

TEST(NodeHistory, NodesThatAreLostTogetherInterruptAPlanOnce) {
  NodeHistory together = history_of(20);
  NodeHistory apart = history_of(20);
  for (int i = 1; i <= 100; ++i) {
    together.add_lost(Seconds(200.0 * i), 4);
    together.add_joined(Seconds(200.0 * i), 4);
    for (int j = 0; j < 4; ++j) apart.add_lost(Seconds(200.0 * i - 50 * (3 - j)), 1);
    apart.add_joined(Seconds(200.0 * i), 4);
  }
  EXPECT_NEAR(together.nodes_per_drop(), 4, 0.2);
  EXPECT_LT(together.interruptions_per_second(20, kAssumed), 0.3 * apart.interruptions_per_second(20, kAssumed));
}

TEST(NodeHistory, EventsOfOneTimeCountTheSameInAnyOrder) {
  NodeHistory one = history_of(5);
  one.add_lost(Seconds(100), 1);
  one.add_joined(Seconds(100), 2);
  one.add_lost(Seconds(100), 2);
  NodeHistory other = history_of(5);
  other.add_joined(Seconds(100), 2);
  other.add_lost(Seconds(100), 2);
  other.add_lost(Seconds(100), 1);
  EXPECT_EQ(one, other);
  EXPECT_EQ(one.drops, 1);
}

// Follows a pool through random events, and calls `check` after each.
template <class Check>
void for_random_histories(Check check) {
  std::mt19937_64 draw(1);
  for (int world = 0; world < 200; ++world) {
    NodeHistory history = history_of(static_cast<int>(draw() % 20));
    for (int i = 0; i < 100; ++i) {
      const Seconds now = history.at + Seconds(static_cast<double>(draw() % 600));
      const int count = 1 + static_cast<int>(draw() % 4);
      history.pass_until(now);
      const bool joins = draw() % 2 == 0;
      if (joins) history.add_joined(now, count);
      if (!joins && history.nodes >= count) history.add_lost(now, count);
      check(history);
    }
  }
}

TEST(NodeHistory, LifetimesAreFiniteAndAboveZero) {
  for_random_histories([](const NodeHistory& history) {
    const double lifetime = history.node_lifetime(kAssumed).value();
    ASSERT_GT(lifetime, 0);
    ASSERT_TRUE(std::isfinite(lifetime));
    ASSERT_GE(history.nodes_per_drop(), 1);
  });
}

TEST(NodeHistory, APlanOfMoreNodesIsInterruptedAtLeastAsOften) {
  for_random_histories([](const NodeHistory& history) {
    double fewer = 0;
    for (int used = 0; used < 30; ++used) {
      const double rate = history.interruptions_per_second(used, kAssumed);
      ASSERT_GE(rate * (1 + 1e-9), fewer);
      fewer = rate;
    }
  });
}

TEST(NodeHistory, ALossNeverMakesTheExpectedLifetimeLongerAndCalmTimeNeverShorter) {
  for_random_histories([](const NodeHistory& history) {
    const double before = history.node_lifetime(kAssumed).value();
    NodeHistory worse = history;
    worse.add_lost(history.at, std::min(1, history.nodes));
    ASSERT_LE(worse.node_lifetime(kAssumed).value(), before);
    NodeHistory calmer = history;
    calmer.pass_until(history.at + Seconds(60));
    ASSERT_GE(calmer.node_lifetime(kAssumed).value(), std::min(before, kAssumed.value()) * (1 - 1e-9));
  });
}

TEST(DropOutcomes, DropsThatWereSavedLowerTheProbabilityOfLosingState) {
  DropOutcomes outcomes;
  EXPECT_EQ(outcomes.unsaved_share(), 1);
  outcomes.add(Seconds(10), true);
  EXPECT_DOUBLE_EQ(outcomes.unsaved_share(), 1.0 / 2);
  outcomes.add(Seconds(10), false);
  EXPECT_DOUBLE_EQ(outcomes.unsaved_share(), 2.0 / 3);
  outcomes.add(Seconds(10) + kHistoryHalfLife, true);
  EXPECT_DOUBLE_EQ(outcomes.unsaved_share(), 1.5 / 3);
}

// A gain of 10 % is worth a pause of 5 s after 50 s.
TEST(LookAhead, AChangeIsWorthItsPauseIfTheNodesStayLongEnough) {
  const double share = share_forgone(1.0, 0.9);
  EXPECT_TRUE(is_worth_pausing(share, Seconds(5), Seconds(51), Seconds(0)));
  EXPECT_FALSE(is_worth_pausing(share, Seconds(5), Seconds(49), Seconds(0)));
}

TEST(LookAhead, AJobThatHasForgoneAsMuchAsThePauseTakesChangesAnyway) {
  EXPECT_FALSE(is_worth_pausing(0.1, Seconds(5), Seconds(1), Seconds(4.9)));
  EXPECT_TRUE(is_worth_pausing(0.1, Seconds(5), Seconds(1), Seconds(5)));
}

TEST(LookAhead, AutoWaitsUntilTheHistoryHoldsEnoughDrops) {
  EXPECT_FALSE(looks_ahead(LookAhead::kAuto, kEnoughDrops - 0.1));
  EXPECT_TRUE(looks_ahead(LookAhead::kAuto, kEnoughDrops));
  EXPECT_TRUE(looks_ahead(LookAhead::kOn, 0));
  EXPECT_FALSE(looks_ahead(LookAhead::kOff, 100));
}

}  // namespace
}  // namespace sailor
