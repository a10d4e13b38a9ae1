// Which nodes of a trace exist when.
#include "planner/replay/node_lifetimes.h"

#include <gtest/gtest.h>

#include "tests/planner/replay/replays.h"

namespace sailor {
namespace {

using testing::four_nodes;
using testing::kSpotPool;
using testing::named_trace;
using testing::trace_of;

TEST(NodeLifetimes, TheSeedDrawsTheNodesThatLeave) {
  std::map<std::string, int> left;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const auto nodes = node_lifetimes(four_nodes(), {{kSpotPool, trace_of({4, 3})}}, seed);
    EXPECT_EQ(nodes, node_lifetimes(four_nodes(), {{kSpotPool, trace_of({4, 3})}}, seed));
    for (const NodeLifetime& node : nodes) left[node.name] += node.leaves == Seconds(1000) ? 1 : 0;
  }
  for (const auto& [name, count] : left) EXPECT_NEAR(count, 100, 30) << name;
}

TEST(NodeLifetimes, ANodeThatComesBackIsAnother) {
  const auto nodes = node_lifetimes(four_nodes(), {{kSpotPool, trace_of({1, 0, 1})}}, 1);
  ASSERT_EQ(nodes.size(), 2U);
  EXPECT_EQ(nodes[0].leaves, Seconds(1000));
  EXPECT_EQ(nodes[1].joins, Seconds(2000));
  EXPECT_NE(nodes[0].name, nodes[1].name);
}

TEST(NodeLifetimes, NamesOfTheTraceAreKept) {
  const auto nodes = node_lifetimes(four_nodes(), {{kSpotPool, named_trace({{"a", "b"}, {"b", "c"}})}}, 1);
  EXPECT_EQ(names_at(nodes, Seconds(0)), "a b");
  EXPECT_EQ(names_at(nodes, Seconds(1500)), "b c");
}

TEST(NodeLifetimes, APoolHasNoMoreNodesThanInTheCluster) {
  EXPECT_EQ(node_lifetimes(four_nodes(), {{kSpotPool, trace_of({9})}}, 1).size(), 4U);
  EXPECT_EQ(node_lifetimes(four_nodes(), {{kSpotPool, named_trace({{"a", "b", "c", "d", "e"}})}}, 1).size(), 4U);
}

TEST(NodeLifetimes, NodesOfAPoolWithoutATraceStay) {
  const auto nodes = node_lifetimes(four_nodes(), {}, 1);
  ASSERT_EQ(nodes.size(), 4U);
  EXPECT_EQ(nodes[3].leaves, kNever);
}

}  // namespace
}  // namespace sailor
