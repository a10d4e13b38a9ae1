// What the operator remembers of the nodes of a pool: which count as lost, and how the status of a GpuPool stores it.
#include "operator/reconcile/observe/pool_watch.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "operator/model/node_labels.h"

namespace sailor::testing {
namespace {

using kube::Json;
using std::chrono::hours;
using std::chrono::seconds;

const PoolKey kWatchedPool{Zone{"us-central1-a"}, Accelerator{"nvidia-tesla-t4"}, Provisioning::kSpot};
const Time kFirstLook = *parse_rfc3339("2026-01-01T00:00:00Z");

NodeView node_of(const std::string& name) {
  NodeView node;
  node.name = name;
  node.uid = "uid-" + name;
  node.pool = kWatchedPool;
  return node;
}

class WatchedPool : public ::testing::Test {
 protected:
  WatchedPool() {
    view.pools[kWatchedPool] = {.name = "t4", .key = kWatchedPool};
    for (const char* name : {"a", "b", "c"}) add(node_of(name));
  }
  void add(const NodeView& node) {
    view.nodes.push_back(node);
    exist({node.uid});
  }
  void exist(const std::string& uid) {
    std::set<std::string> uids = view.node_uids.all();
    uids.insert(uid);
    view.node_uids = NodeUids(std::move(uids));
  }
  void vanish(const std::string& uid) {
    std::set<std::string> uids = view.node_uids.all();
    uids.erase(uid);
    view.node_uids = NodeUids(std::move(uids));
  }
  void remove(const std::string& name) {
    view.nodes.erase(name);
    vanish("uid-" + name);
  }
  NodeHistory after(std::set<std::string> names) {
    watch.observe(view, names, now);
    return watch.histories()->at(kWatchedPool).nodes;
  }
  // Another operator, which knows only what the status of the GpuPool says.
  NodeHistory after_restart(const Json& history) {
    watch = {};
    watch.observe_all(view, {gpu_pool(history)}, now);
    return watch.histories()->at(kWatchedPool).nodes;
  }
  static kube::Object gpu_pool(const Json& history) {
    return std::make_shared<const Json>(Json{{"metadata", {{"name", "t4"}}}, {"status", {{"history", history}}}});
  }

  ClusterView view;
  PoolWatch watch;
  Time now = kFirstLook;
};

class HistoryOfAPool : public WatchedPool {
 protected:
  HistoryOfAPool() { watch.observe_all(view, {}, now); }
};

TEST_F(HistoryOfAPool, NodesThatExistAtTheBeginningHaveNotJoined) {
  const NodeHistory history = watch.histories()->at(kWatchedPool).nodes;
  EXPECT_EQ(history.nodes, 3);
  EXPECT_EQ(history.arrivals, 0);
  EXPECT_EQ(history.at, history_time(kFirstLook));
}

TEST_F(HistoryOfAPool, ANodeIsLostOnceAlthoughItIsAnnouncedAndThenGone) {
  view.nodes.change("a", [](NodeView& node) { node.is_terminating = true; });
  now += hours(1);
  EXPECT_EQ(after({"a"}).losses, 1);
  EXPECT_EQ(watch.histories()->at(kWatchedPool).nodes.nodes, 2);
  remove("a");
  now += seconds(30);
  EXPECT_NEAR(after({"a"}).losses, 1, 0.01);
}

TEST_F(HistoryOfAPool, ANodeThatVanishesWithoutNoticeIsLost) {
  remove("b");
  now += seconds(60);
  EXPECT_EQ(after({"b"}).losses, 1);
  EXPECT_EQ(after({"b"}).nodes, 2);
}

TEST_F(HistoryOfAPool, ANodeThatIsReplacedUnderItsNameIsLostAndAnotherHasJoined) {
  vanish("uid-b");
  view.nodes.change("b", [](NodeView& node) { node.uid = "another"; });
  exist("another");
  now += seconds(60);
  const NodeHistory history = after({"b"});
  EXPECT_EQ(history.losses, 1);
  EXPECT_EQ(history.arrivals, 1);
  EXPECT_EQ(history.nodes, 3);
}

TEST_F(HistoryOfAPool, NodesThatAreDrainedOrScaledDownAreNotLost) {
  view.nodes.change("a", [](NodeView& node) { node.is_cordoned = true; });
  view.nodes.change("b", [](NodeView& node) {
    node.taints = {{std::string(kAutoscalerTaint), "", "NoSchedule"}};
    node.is_terminating = true;
  });
  now += seconds(60);
  EXPECT_EQ(after({"a", "b"}).nodes, 2) << "a cordoned node still exists";
  remove("a");
  remove("b");
  now += seconds(60);
  const NodeHistory history = after({"a", "b"});
  EXPECT_EQ(history.losses, 0);
  EXPECT_EQ(history.nodes, 1);
}

TEST_F(HistoryOfAPool, ANodeThatTheOperatorUsesNoLongerIsNotLost) {
  view.nodes.erase("a");  // its UID still exists
  now += seconds(60);
  EXPECT_EQ(after({"a"}).losses, 0);
  EXPECT_EQ(after({"a"}).nodes, 2);
}

TEST_F(HistoryOfAPool, NodesThatAreLostWithinSecondsAreOneDrop) {
  now += hours(1);
  remove("a");
  EXPECT_EQ(after({"a"}).drops, 1);
  now += seconds(5);
  remove("b");
  EXPECT_EQ(after({"b"}).losses, 2);
  EXPECT_EQ(after({"b"}).drops, 1);
  now += seconds(20);
  remove("c");
  EXPECT_NEAR(after({"c"}).drops, 2, 0.01);
}

TEST_F(HistoryOfAPool, AnotherOperatorContinuesWhatTheGpuPoolStores) {
  now += hours(1);
  remove("a");
  const NodeHistory before = after({"a"});
  now += hours(2);
  remove("b");  // while no operator watches
  const NodeHistory history = after_restart(to_json(before));
  EXPECT_NEAR(history.losses, before.losses / 2, 1e-6);
  EXPECT_NEAR(history.drops, before.drops / 2, 1e-6);
  EXPECT_EQ(history.nodes, 1);
  EXPECT_EQ(history.at, history_time(now));
}

TEST_F(HistoryOfAPool, WhatThisOperatorHasSeenCountsMoreThanWhatAnotherStoredBefore) {
  const Json stored = to_json(watch.histories()->at(kWatchedPool).nodes);
  now += hours(1);
  remove("a");
  const NodeHistory own = after({"a"});
  watch.observe_all(view, {gpu_pool(stored)}, now);
  EXPECT_EQ(watch.histories()->at(kWatchedPool).nodes, own);
}

TEST_F(HistoryOfAPool, AClockThatIsSetBackDoesNotStopTheHistory) {
  now += hours(1000);
  remove("a");
  const double losses = after({"a"}).losses;
  now -= hours(900);
  remove("b");
  const NodeHistory history = after({"b"});
  EXPECT_EQ(history.losses, losses + 1);
  EXPECT_EQ(history.at, history_time(now));
}

using StoredHistory = WatchedPool;

TEST_F(StoredHistory, HistoryThatCannotBeTrueIsIgnored) {
  const Json good = to_json(
      NodeHistory{.at = history_time(kFirstLook), .nodes = 3, .losses = 2, .drops = 1, .node_time = Seconds(7200)});
  EXPECT_EQ(after_restart(good).losses, 2);
  for (const auto& [field, value] : {std::pair<const char*, Json>{"losses", -1},
                                     {"drops", "many"},
                                     {"nodeHours", nullptr},
                                     {"nodes", 1e300},
                                     {"time", "yesterday"}}) {
    Json bad = good;
    bad[field] = value;
    EXPECT_EQ(after_restart(bad).losses, 0) << field;
  }
  EXPECT_EQ(after_restart("nonsense").losses, 0);
}

TEST_F(StoredHistory, HistoryFromTheFutureEndsNow) {
  NodeHistory history{.at = history_time(kFirstLook + hours(24 * 365)),
                      .nodes = 3,
                      .losses = 2,
                      .drops = 1,
                      .node_time = Seconds(7200)};
  const NodeHistory known = after_restart(to_json(history));
  EXPECT_EQ(known.at, history_time(kFirstLook));
  EXPECT_EQ(known.losses, 2);
}

TEST(HistoryJson, EndsAtWholeSecondsAndLosesNothingElse) {
  NodeHistory history{.at = history_time(kFirstLook),
                      .nodes = 3,
                      .losses = 0.123456789,
                      .drops = 1.5,
                      .arrivals = 2.25,
                      .node_time = Seconds(12345.678),
                      .last_drop = history_time(kFirstLook - seconds(60)),
                      .last_arrival = Seconds(-1)};
  const Json json = Json::parse(to_json(history).dump());
  const auto read = history_of({{"status", {{"history", json}}}}, kFirstLook);
  EXPECT_EQ(read->losses, history.losses);
  EXPECT_NEAR(read->node_time.value(), history.node_time.value(), 1e-9);
  EXPECT_EQ(read->last_drop, history.last_drop);
  EXPECT_EQ(read->last_arrival, history.last_arrival);
}

}  // namespace
}  // namespace sailor::testing
