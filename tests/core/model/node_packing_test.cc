// Packing of tensor-parallel groups into the nodes of a pool.
#include "core/model/node_packing.h"

#include <gtest/gtest.h>

#include "tests/support/builders.h"

namespace sailor {
namespace {

using testing::a_cluster;

Pool a_pool(const testing::ClusterBuilder& cluster) { return cluster.build().pools.front(); }

TEST(NodePacking, AGroupNeverSpansNodes) {
  const Pool pool = a_pool(a_cluster().pool("z-1-a", "nvidia-l4", 4, 3));
  EXPECT_EQ(pack_groups(pool, {{2, 4}}).left_over, 0);
  EXPECT_EQ(pack_groups(pool, {{2, 6}}).left_over, 2)
      << "twelve GPUs, but one of the three GPUs of each node remains unused";
  EXPECT_EQ(pack_groups(pool, {{4, 1}}).left_over, 1);
}

TEST(NodePacking, SmallGroupsFillTheSpaceThatLargeOnesLeave) {
  const Pool pool = a_pool(a_cluster().pool("z-1-a", "nvidia-l4", 2, 4));
  const PackedGroups packing = pack_groups(pool, {{1, 2}, {2, 1}, {4, 1}});
  EXPECT_EQ(packing.left_over, 0);
  EXPECT_EQ(packing.nodes_used, 2);
}

TEST(NodePacking, UsesNoMoreNodesThanNeeded) {
  const Pool pool = a_pool(a_cluster().pool("z-1-a", "nvidia-l4", 16, 4));
  EXPECT_EQ(pack_groups(pool, {{1, 4}, {2, 2}}).nodes_used, 2);
  EXPECT_EQ(pack_groups(pool, {}).nodes_used, 0);
}

TEST(NodePacking, APartlyUsedNodeOfAPoolOfWholeNodesIsNotOffered) {
  const Pool pool = a_pool(a_cluster().pool("z-1-a", "nvidia-l4", 1, 4).partly_free(3, 5).whole_nodes());
  EXPECT_EQ(pack_groups(pool, {{1, 5}}).left_over, 1);
}

}  // namespace
}  // namespace sailor
