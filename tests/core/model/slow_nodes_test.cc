// Slow GPUs: their speed grades, and the pools that a cluster with slow nodes has.
#include "core/model/slow_nodes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/model/node_packing.h"

namespace sailor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const PoolKey kKey{Zone("us-central1-a"), Accelerator("nvidia-l4"), Provisioning::kSpot};

PoolKey graded(int grade) {
  PoolKey key = kKey;
  key.grade = grade;
  return key;
}

ClusterState cluster(std::vector<NodeGroup> nodes) {
  Pool pool{.key = kKey, .region = region_of(kKey.zone), .gpus_per_node = 8, .nodes = std::move(nodes)};
  pool.whole_nodes = true;
  return {{pool}, {}};
}

TEST(SpeedGrade, AGradeIsAtLeastAsSlowAsTheGpu) {
  EXPECT_EQ(grade_of(1), 0);
  for (double slowdown = 1; slowdown < 14.5; slowdown += 0.05) {
    const int grade = grade_of(slowdown);
    EXPECT_GE(slowdown_of(grade), slowdown * (1 - 1e-6));
    if (grade > 0) {
      EXPECT_LT(slowdown_of(grade - 1), slowdown);
    }
  }
}

TEST(SpeedGrade, AGradesOwnSlowdownHasThatGrade) {
  for (int grade = 0; grade <= kSlowestGrade; ++grade) EXPECT_EQ(grade_of(slowdown_of(grade)), grade);
  EXPECT_GT(grade_of(1e9), kSlowestGrade);
}

TEST(SlowNodes, APoolKeyWithAGradeIsReadBackAsWritten) {
  EXPECT_EQ(to_string(graded(3)), "us-central1-a/nvidia-l4/spot/slow3");
  EXPECT_EQ(parse_pool_key("us-central1-a/nvidia-l4/spot/slow12").value(), graded(12));
  EXPECT_EQ(parse_pool_key("a/slow-gpu/spot").value().accelerator, Accelerator("slow-gpu"));
  for (const char* text : {"a/b/spot/slow", "a/b/spot/slow0", "a/b/spot/slow13", "a/b/spot/slow-1", "a/b/slow1"}) {
    ASSERT_FALSE(parse_pool_key(text)) << text;
    EXPECT_THAT(parse_pool_key(text).error().message, HasSubstr("/slow1 to /slow12"));
  }
}

// The counts of a node by grade: `gpus` has pairs of a grade and a count.
std::vector<int> mixed(const std::vector<std::pair<int, int>>& gpus) {
  std::vector<int> counts(kUnusableGrade + 1);
  for (const auto& [grade, count] : gpus) counts[static_cast<std::size_t>(grade)] = count;
  return counts;
}

TEST(SlowNodes, SlowGpusFormPoolsOfTheirGrades) {
  const auto slowed = with_slow_nodes(cluster({{8, 3}}), {{kKey, {1, 1, 4}}});
  ASSERT_TRUE(slowed) << slowed.error().message;
  const std::vector<int> node = mixed({{0, 5}, {1, 2}, {4, 1}});
  ASSERT_EQ(slowed->pools.size(), 3U);
  EXPECT_EQ(slowed->pools[0].key, kKey);
  EXPECT_THAT(slowed->pools[0].nodes, ElementsAre(NodeGroup{8, 2}, NodeGroup{5, 1, node}));
  EXPECT_EQ(slowed->pools[1].key, graded(1));
  EXPECT_THAT(slowed->pools[1].nodes, ElementsAre(NodeGroup{2, 1, node}));
  EXPECT_EQ(slowed->pools[2].key, graded(4));
  EXPECT_THAT(slowed->pools[2].nodes, ElementsAre(NodeGroup{1, 1, node}));
  EXPECT_EQ(slowed->free_gpus(), 24);
}

TEST(SlowNodes, AnUnusableGpuIsLeftOutAndItsNodeIsNot) {
  const auto slowed = with_slow_nodes(cluster({{8, 1}}), {{kKey, {kUnusableGrade}}});
  ASSERT_TRUE(slowed) << slowed.error().message;
  EXPECT_EQ(slowed->free_gpus(), 7);
  EXPECT_EQ(pack_groups(slowed->pools.front(), {{4, 1}, {2, 1}, {1, 1}}).left_over, 0)
      << "a pool of whole nodes offers it, because nobody else uses a GPU of it";
}

TEST(SlowNodes, AllGpusOfANodeMayBeSlow) {
  const auto slowed = with_slow_nodes(cluster({{8, 1}}), {{kKey, std::vector<int>(8, 4)}});
  ASSERT_TRUE(slowed) << slowed.error().message;
  ASSERT_EQ(slowed->pools.size(), 2U);
  EXPECT_EQ(slowed->pools[0].free_gpus(), 0);
  EXPECT_THAT(slowed->pools[1].nodes, ElementsAre(NodeGroup{8, 1}));
}

TEST(SlowNodes, ANodeThatThePoolDoesNotHaveIsRefused) {
  const auto message = [](const SlowNode& node) {
    return with_slow_nodes(cluster({{8, 1}, {4, 1}}), {node, node}).error().message;
  };
  EXPECT_THAT(message({kKey, {4}}), HasSubstr("no further free node"));
  EXPECT_THAT(message({kKey, std::vector<int>(9, 4)}), HasSubstr("9 slow GPUs on a node of pool"));
  EXPECT_THAT(message({graded(2), {4}}), HasSubstr("there is no pool"));
}

TEST(SlowNodes, PackingSaysWhichNodesItUses) {
  const auto slowed = with_slow_nodes(cluster({{8, 2}}), {{kKey, {4}}});
  const PackedGroups packed = pack_groups(slowed->pools.front(), {{4, 2}});
  EXPECT_EQ(packed.nodes_used, 2);
  EXPECT_THAT(packed.nodes_of_group, ElementsAre(1, 1));
}

TEST(SlowNodes, WithEqualGpusEveryNodeCountsOnceAtTheGradeOfItsFastestGpu) {
  std::vector<int> slow(8, 2);
  slow[0] = 5;
  const auto slowed = with_slow_nodes(cluster({{8, 3}}), {{kKey, {1, kUnusableGrade}}, {kKey, slow}});
  const ClusterState equal = with_equal_gpus(slowed.value());
  ASSERT_EQ(equal.pools.size(), 2U);
  EXPECT_EQ(equal.pools[0].key, kKey);
  EXPECT_THAT(equal.pools[0].nodes, ElementsAre(NodeGroup{8, 2}));
  EXPECT_EQ(equal.pools[1].key, graded(2));
  EXPECT_THAT(equal.pools[1].nodes, ElementsAre(NodeGroup{8, 1}));
}

}  // namespace
}  // namespace sailor
