#include "core/model/cluster_state.h"

#include <gtest/gtest.h>

namespace sailor {
namespace {

Pool pool(const char* zone, std::vector<NodeGroup> nodes) {
  return {.key = {Zone(zone), Accelerator("nvidia-l4"), Provisioning::kSpot},
          .region = region_of(Zone(zone)),
          .gpus_per_node = 4,
          .nodes = std::move(nodes)};
}

TEST(Pool, ATensorParallelGroupNeverSpansNodes) {
  const Pool three_and_one = pool("us-central1-a", {{3, 1}, {1, 5}});
  EXPECT_EQ(three_and_one.free_gpus(), 8);
  EXPECT_EQ(three_and_one.group_capacity(1), 8);
  EXPECT_EQ(three_and_one.group_capacity(2), 1);
  EXPECT_EQ(three_and_one.group_capacity(4), 0);
}

TEST(Pool, TheLargestNodeOffersTheMostGpusOfOneNode) {
  EXPECT_EQ(pool("us-central1-a", {{3, 1}, {1, 5}}).gpus_of_largest_node(), 3);
  EXPECT_EQ(pool("us-central1-a", {}).gpus_of_largest_node(), 0);
}

TEST(ClusterState, EqualClustersReadInAnotherOrderAreEqual) {
  const ClusterState one = normalized({{pool("us-central1-a", {{2, 1}, {4, 2}}), pool("us-west1-b", {{1, 1}})}});
  const ClusterState other = normalized({{pool("us-west1-b", {{1, 1}}), pool("us-central1-a", {{4, 1}}),
                                          pool("us-central1-a", {{4, 1}, {2, 1}, {0, 7}})}});
  EXPECT_EQ(one, other);
  EXPECT_EQ(one.free_gpus(), 11);
}

TEST(ClusterState, AnotherOneIsAPartOfItIfItHasNoMoreNodesAndTheSamePrices) {
  const ClusterState whole = normalized({{pool("us-central1-a", {{2, 3}, {4, 2}}), pool("us-west1-b", {{1, 1}})}});
  EXPECT_TRUE(contains(whole, whole));
  EXPECT_TRUE(contains(whole, {{pool("us-central1-a", {{4, 1}, {2, 3}})}}));
  EXPECT_TRUE(contains(whole, {{pool("us-central1-a", {{2, 5}})}})) << "GPUs of the larger nodes are in use";
  EXPECT_FALSE(contains(whole, {{pool("us-central1-a", {{2, 6}})}}));
  EXPECT_FALSE(contains(whole, {{pool("us-central1-a", {{4, 3}})}}));
  EXPECT_FALSE(contains(whole, {{pool("us-east1-b", {{1, 1}})}}));
  ClusterState cheaper = whole;
  cheaper.pools.front().price_per_gpu = DollarsPerHour(0.01);
  EXPECT_FALSE(contains(whole, cheaper));
}

TEST(Ids, APoolKeyIsReadBackAsWritten) {
  const PoolKey key = pool("europe-west4-a", {}).key;
  EXPECT_EQ(to_string(key), "europe-west4-a/nvidia-l4/spot");
  EXPECT_EQ(parse_pool_key(to_string(key)).value(), key);
}

TEST(Ids, AMalformedPoolKeyIsRefusedWithTheExpectedForm) {
  for (const char* text : {"", "a", "a/b", "a/b/", "a/b/cheap", "/b/spot", "a//spot"}) {
    const auto parsed = parse_pool_key(text);
    ASSERT_FALSE(parsed.has_value()) << text;
    EXPECT_NE(parsed.error().message.find("zone/accelerator/spot"), std::string::npos);
  }
}

}  // namespace
}  // namespace sailor
