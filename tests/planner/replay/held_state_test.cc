// What is left of a job's state when nodes are lost.
#include "planner/replay/held_state.h"

#include <gtest/gtest.h>

#include "tests/planner/replay/replays.h"

namespace sailor {
namespace {

using testing::a_long_job;
using testing::an_even_plan;
using testing::four_nodes;
using testing::kSpotPool;

// The plan has two stages of two replicas. Node i holds a replica: nodes 0 and 1 the first stage, 2 and 3 the second.
HeldState held_by(const Plan& plan) {
  const std::vector<NodeRoom> rooms(4, NodeRoom{kSpotPool, 1, 0});
  return {plan, place_groups(plan, rooms).value(), {0, 1, 2, 3}, four_nodes()};
}

Plan two_by_two() { return an_even_plan(a_long_job(), kSpotPool, 2, 2, 1); }

TEST(HeldState, AStageSurvivesWithOneOfItsReplicas) {
  HeldState held = held_by(two_by_two());
  held.keep_only({1, 2});
  EXPECT_TRUE(held.is_complete());
  EXPECT_EQ(held.remaining().gpus(), 2);
}

TEST(HeldState, AStageIsLostWithItsLastReplica) {
  HeldState held = held_by(two_by_two());
  held.keep_only({2, 3});
  EXPECT_FALSE(held.is_complete());
  EXPECT_TRUE(held.remaining().stages.front().groups.empty());
}

TEST(HeldState, APeerReplicaSurvivesTheOnlyHolder) {
  Plan plan = an_even_plan(a_long_job(), kSpotPool, 4, 1, 1);
  HeldState without = held_by(plan);
  without.keep_only({0, 1, 2});
  EXPECT_FALSE(without.is_complete());
  plan.peer_replicas = true;
  HeldState with = held_by(plan);
  with.keep_only({0, 1, 2});
  EXPECT_TRUE(with.is_complete());
  with.keep_only({0, 1});
  EXPECT_FALSE(with.is_complete()) << "the peer replica was spread over all other nodes";
}

TEST(HeldState, EveryShardOfAShardedOptimizerNeedsAHolder) {
  Plan plan = two_by_two();
  plan.sharded_optimizer = true;
  HeldState without = held_by(plan);
  without.keep_only({0, 1, 2});
  EXPECT_FALSE(without.is_complete());
  plan.peer_replicas = true;
  HeldState with = held_by(plan);
  with.keep_only({0, 1, 2});
  EXPECT_TRUE(with.is_complete());
}

}  // namespace
}  // namespace sailor
