// The statuses of GpuPools: what they say, and when they are written.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/model/names.h"
#include "tests/operator/world.h"

namespace sailor::testing {
namespace {

using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kNodes = "/api/v1/nodes";

HttpResponse refusal(int code, const std::string& message) {
  const Json status = {{"kind", "Status"}, {"code", code}, {"reason", "x"}, {"message", message}};
  return {code, status.dump(), std::nullopt};
}

Json gpus(int allocatable, int used, int free) {
  return {{"allocatable", allocatable}, {"used", used}, {"free", free}};
}

class PoolStatuses : public ::testing::Test {
 protected:
  void change_node(const std::string& name, const char* pointer, const Json& value) {
    Json node = world.api_server.find("nodes", name);
    node[Json::json_pointer(pointer)] = value;
    world.api_server.put(kNodes, node);
  }
  World world;
};

TEST_F(PoolStatuses, ShowReadyNodesGpusAndPrice) {
  world.add_node("a", 2);
  world.add_node("b", 1);
  world.add_job();
  world.settle();
  world.add_node("c", 4);
  world.add_pool("t4");
  world.write_pool_statuses();
  EXPECT_EQ(world.pool_status("t4"), (Json{{"observedGeneration", 1},
                                           {"readyNodes", 3},
                                           {"gpus", gpus(7, 3, 4)},
                                           {"pricePerGpuHour", "0.125"},
                                           {"priceSource", "Spec"},
                                           {"message",
                                            "spec.gpusPerNode is 2, but node b has 1 GPU (2 of 3 nodes differ). Plans "
                                            "count on gpusPerNode for nodes that do not exist yet. Correct it, or find "
                                            "out why the nodes have another number."},
                                           {"expectedNodeLifetimeHours", "24"},
                                           {"history",
                                            {{"time", to_rfc3339(world.now)},
                                             {"nodes", 3},
                                             {"losses", 0},
                                             {"drops", 0},
                                             {"arrivals", 1},
                                             {"nodeHours", 0},
                                             {"lastArrivalTime", to_rfc3339(world.now)}}}}));
}

TEST_F(PoolStatuses, NodesWithAnotherNumberOfGpusThanThePoolStatesAreNamed) {
  world.add_pool("t4", {{"gpusPerNode", 4}});
  world.add_node("a", 4);
  world.write_pool_statuses();
  EXPECT_FALSE(world.pool_status("t4").contains("message"));
  world.add_node("b", 8);
  world.write_pool_statuses();
  EXPECT_THAT(kube::text_at(world.pool_status("t4"), {"message"}),
              HasSubstr("spec.gpusPerNode is 4, but node b has 8 GPUs (1 of 2 nodes differ)"));
  world.add_pool("t4", {{"gpusPerNode", 8}});
  world.remove_node("a");
  world.write_pool_statuses();
  EXPECT_FALSE(world.pool_status("t4").contains("message"));
}

TEST_F(PoolStatuses, GpusOfNodesThatNoJobCanUseAreNotFree) {
  for (const char* name : {"cordoned", "not-ready", "terminating", "usable"}) world.add_node(name, 2);
  change_node("cordoned", "/spec/unschedulable", true);
  change_node("not-ready", "/status/conditions/0/status", "False");
  world.preempt("terminating");
  world.add_pool("t4");
  world.write_pool_statuses();
  EXPECT_EQ(world.pool_status("t4")["readyNodes"], 3);
  EXPECT_EQ(world.pool_status("t4")["gpus"], gpus(8, 0, 2));
}

TEST_F(PoolStatuses, PriceOfTheListIsMarked) {
  world.add_pool("t4", {{"pricePerGpuHour", nullptr}});
  world.write_pool_statuses();
  EXPECT_EQ(world.pool_status("t4")["priceSource"], "ListPrice");
  EXPECT_EQ(world.pool_status("t4")["pricePerGpuHour"], "0.27") << "a spot GPU costs half as much as one on demand";
}

TEST_F(PoolStatuses, SayHowManyNodesJobsWaitForAndWhyNoneCame) {
  world.add_pool("t4", {{"maxNodes", 2}});
  world.add_job();
  world.settle();
  world.write_pool_statuses();
  EXPECT_EQ(world.pool_status("t4")["awaitedNodes"], 2);
  EXPECT_EQ(world.pool_status("t4")["awaitedSince"], "2026-01-01T00:00:00Z");
  EXPECT_FALSE(world.pool_status("t4").contains("lastRefusal"));
  world.pass(seconds(20));
  world.say_of_new_nodes("FailedScaleUp", "out of resources");
  world.settle();
  world.write_pool_statuses();
  EXPECT_FALSE(world.pool_status("t4").contains("awaitedNodes"));
  EXPECT_EQ(
      world.pool_status("t4")["lastRefusal"],
      (Json{{"time", "2026-01-01T00:00:20Z"}, {"retryTime", "2026-01-01T00:05:20Z"}, {"message", "out of resources"}}));
}

TEST_F(PoolStatuses, TwoPoolsDoNotMix) {
  world.add_node("a", 2);
  world.add_node("b", 4, "us-central1-b");
  world.add_pool("in-a");
  world.add_pool("in-b", {{"zone", "us-central1-b"}, {"pricePerGpuHour", "0.25"}});
  world.add_pool("on-demand", {{"provisioning", "OnDemand"}});
  world.write_pool_statuses();
  EXPECT_EQ(world.pool_status("in-a")["gpus"], gpus(2, 0, 2));
  EXPECT_EQ(world.pool_status("in-b")["gpus"], gpus(4, 0, 4));
  EXPECT_EQ(world.pool_status("in-b")["pricePerGpuHour"], "0.25");
  EXPECT_EQ(world.pool_status("on-demand")["gpus"], gpus(0, 0, 0));
}

TEST_F(PoolStatuses, PoolWhoseNodesAreGoneShowsZero) {
  world.add_node("a", 2);
  world.add_pool("t4");
  world.write_pool_statuses();
  EXPECT_EQ(world.pool_status("t4")["readyNodes"], 1);
  world.remove_node("a");
  world.write_pool_statuses();
  EXPECT_EQ(world.pool_status("t4")["readyNodes"], 0);
  EXPECT_EQ(world.pool_status("t4")["gpus"], gpus(0, 0, 0));
}

TEST_F(PoolStatuses, PoolThatTheOperatorDoesNotUseSaysWhy) {
  world.add_node("a", 2);
  world.add_pool("first");
  world.add_pool("second");
  world.add_pool("unknown", {{"accelerator", "nvidia-of-next-year"}});
  world.add_pool("unpriced", {{"accelerator", "nvidia-of-next-year"}, {"pricePerGpuHour", nullptr}});
  world.write_pool_statuses();
  const auto message = [&](const char* pool) { return world.pool_status(pool).value("message", ""); };
  EXPECT_THAT(message("first"), IsEmpty());
  EXPECT_THAT(message("second"), HasSubstr("GpuPool first declares the same pool"));
  EXPECT_EQ(world.pool_status("second")["gpus"], gpus(0, 0, 0));
  EXPECT_THAT(message("unknown"), HasSubstr("spec.gpu"));
  EXPECT_THAT(message("unpriced"), HasSubstr("pricePerGpuHour"));
  EXPECT_FALSE(world.pool_status("unpriced").contains("pricePerGpuHour"));
}

TEST_F(PoolStatuses, PoolWithoutKernelsSaysSo) {
  world.settings.least_capability = parse_compute_capability("8.0").value();
  world.restart_operator();
  world.add_pool("t4");
  world.write_pool_statuses();
  EXPECT_THAT(world.pool_status("t4").value("message", ""), HasSubstr("no kernels for their GPUs"));
}

TEST_F(PoolStatuses, NothingIsWrittenTwice) {
  world.add_node("a", 2);
  world.add_pool("t4");
  world.add_pool("l4", {{"accelerator", "nvidia-l4"}});
  world.write_pool_statuses();
  EXPECT_EQ(world.api_server.writes, 2);
  change_node("a", "/status/conditions/0/lastHeartbeatTime", "2026-01-01T00:05:00Z");
  world.write_pool_statuses();
  world.restart_operator();
  world.write_pool_statuses();
  EXPECT_EQ(world.api_server.writes, 2);
}

TEST_F(PoolStatuses, PoolThatFlapsIsWrittenOncePerFiveSeconds) {
  world.add_node("a", 2);
  world.add_pool("t4");
  for (int round = 1; round <= 4; ++round) {
    change_node("a", "/status/conditions/0/status", round % 2 == 0 ? "True" : "False");
    EXPECT_EQ(world.write_pool_statuses(), seconds(5));
    EXPECT_EQ(world.api_server.writes, round);
  }
}

TEST_F(PoolStatuses, FailedWriteIsReportedOnceAndRepeatedAndTheJobTrains) {
  world.add_node("a", 2);
  world.add_job();
  world.settle();
  world.add_pool("t4");
  for (int round = 0; round < 2; ++round) {
    world.api_server.next_answers.assign(4, refusal(503, "overloaded"));
    EXPECT_EQ(world.write_pool_statuses(), seconds(5));
    world.settle();
    EXPECT_EQ(world.state(), "Running") << world.status().dump(1);
  }
  EXPECT_THAT(world.pool_failures, ElementsAre(AllOf(HasSubstr("t4: PATCH"), HasSubstr("overloaded"))));
  world.write_pool_statuses();
  EXPECT_EQ(world.pool_status("t4")["gpus"], gpus(2, 2, 0));
  EXPECT_EQ(world.pool_failures.size(), 1U);
}

TEST_F(PoolStatuses, OnePoolWhoseWriteIsRefusedDoesNotHoldUpAnother) {
  world.add_pool("a", {{"zone", "us-central1-b"}});
  world.add_pool("b");
  world.api_server.next_answers = {refusal(403, "a policy forbids it")};
  world.write_pool_statuses();
  EXPECT_THAT(world.pool_failures, ElementsAre(HasSubstr("a policy forbids it")));
  EXPECT_FALSE(world.pool_status("a").contains("gpus"));
  EXPECT_TRUE(world.pool_status("b").contains("gpus"));
}

TEST_F(PoolStatuses, NextWriteWaitsForAsLongAsTheServerAsks) {
  world.add_pool("a", {{"zone", "us-central1-b"}});
  world.add_pool("b");
  HttpResponse busy = refusal(429, "too many requests");
  busy.retry_after = seconds(20);
  world.api_server.next_answers = {busy};
  EXPECT_EQ(world.write_pool_statuses(), seconds(20));
  EXPECT_EQ(world.api_server.writes, 0) << "the server was not asked about the other pool";
}

TEST_F(PoolStatuses, LateStatusOfAFormerLeaderIsNotWritten) {
  world.add_pool("t4");
  const auto late = world.write_pool_statuses_later();
  world.restart_operator();
  world.add_node("a", 2);
  world.write_pool_statuses();
  late();
  EXPECT_EQ(world.pool_status("t4")["readyNodes"], 1);
}

}  // namespace
}  // namespace sailor::testing
