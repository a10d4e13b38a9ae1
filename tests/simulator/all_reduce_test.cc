// Tests all-reduces whose messages can be counted by hand.
#include "simulator/all_reduce.h"

#include <gtest/gtest.h>

namespace sailor {
namespace {

const Bytes kSize(8e6);

Link link(double bytes_per_second, double latency = 0) {
  return {BytesPerSecond(bytes_per_second), Seconds(latency), DollarsPerByte(0), {}};
}

Ring ring(int members, int members_per_node) {
  return {.members = members, .members_per_node = members_per_node, .inside = link(1e9), .between = link(1e8)};
}

TEST(AllReduce, OneMemberHasNothingToSum) {
  EXPECT_EQ(ring_all_reduce(kSize, ring(1, 1)), Seconds(0));
  EXPECT_EQ(hierarchical_all_reduce(kSize, ring(1, 1)), Seconds(0));
}

TEST(AllReduce, EveryMemberOfARingSendsTwiceAllPartsButItsOwn) {
  EXPECT_NEAR(ring_all_reduce(kSize, ring(4, 1)).value(), 2 * 3 * (8e6 / 4) / 1e8, 1e-12);
  Ring late = ring(4, 1);
  late.between.latency = Seconds(1e-3);
  EXPECT_NEAR((ring_all_reduce(kSize, late) - ring_all_reduce(kSize, ring(4, 1))).value(), 6e-3, 1e-12);
}

TEST(AllReduce, ARingWithinANodeUsesTheLinksOfTheNode) {
  EXPECT_NEAR(ring_all_reduce(kSize, ring(4, 4)).value(), 2 * 3 * (8e6 / 4) / 1e9, 1e-12);
}

// Two nodes of four: quarters inside, then half quarters between the nodes.
TEST(AllReduce, TheHierarchicalAlgorithmSendsOnlySumsBetweenNodes) {
  const double inside = 2 * 3 * (8e6 / 4) / 1e9;
  const double between = 2 * 1 * (8e6 / 8) / 1e8;
  EXPECT_NEAR(hierarchical_all_reduce(kSize, ring(8, 4)).value(), inside + between, 1e-12);
  EXPECT_EQ(all_reduce(kSize, ring(8, 4)), hierarchical_all_reduce(kSize, ring(8, 4))) << "the quicker of both";
}

TEST(AllReduce, TheHierarchicalAlgorithmWithOneMemberPerNodeIsTheFlatRing) {
  EXPECT_NEAR(hierarchical_all_reduce(kSize, ring(4, 1)).value(), ring_all_reduce(kSize, ring(4, 1)).value(), 1e-12);
}

TEST(AllReduce, GpusThatSendAtTheSameTimeShareTheirNodesNic) {
  Ring shared = ring(8, 4);
  shared.nic.rate = BytesPerSecond(1e8);  // no more than one link
  const double inside = 2 * 3 * (8e6 / 4) / 1e9;
  EXPECT_NEAR(hierarchical_all_reduce(kSize, shared).value(), inside + 4 * 2 * (8e6 / 8) / 1e8, 1e-12);
  shared.tensor_parallel = 2;  // every shard has a ring of its own
  EXPECT_NEAR(hierarchical_all_reduce(kSize, shared).value(), inside + 8 * 2 * (8e6 / 8) / 1e8, 1e-12);
  EXPECT_NEAR(ring_all_reduce(kSize, shared).value(), 2 * 2 * 7 * (8e6 / 8) / 1e8, 1e-12);
}

TEST(AllReduce, ANicWithMoreBandwidthThanItsGpusNeedDoesNotLimitThem) {
  Ring shared = ring(8, 4);
  shared.nic.rate = BytesPerSecond(1e12);
  EXPECT_EQ(all_reduce(kSize, shared), all_reduce(kSize, ring(8, 4)));
}

}  // namespace
}  // namespace sailor
