#include "trainer/step/roster.h"

#include <random>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/seed.h"
#include "tests/trainer/support/assignments.h"

namespace sailor::trainer {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

Assignment assignment_of(const std::vector<testing::StageShares>& shares, bool sharded_optimizer) {
  const Assignment job = testing::tiny_job("unused");
  Plan plan = testing::plan_of(job, shares);
  plan.sharded_optimizer = sharded_optimizer;
  std::vector<AgentAddress> agents;
  for (int i = 0; i < gpu_count(plan); ++i) agents.push_back({fmt::format("pod-{}", i), "", 1, 1, {}, 1});
  return testing::generation(job, 1, plan, agents);
}

std::vector<testing::StageShares> random_shares(std::mt19937& random) {
  const auto number = [&](int least, int most) { return std::uniform_int_distribution(least, most)(random); };
  std::vector<testing::StageShares> shares;
  for (int first = 0; first < 5;) {
    testing::StageShares stage{first, number(first + 1, 5), {}, {}};
    for (int replica = number(1, 4); replica > 0; --replica) {
      stage.microbatches.push_back(1);  // the roster does not look at them
      stage.tensor_parallel_sizes.push_back(number(1, 4));
    }
    first = stage.last_layer;
    shares.push_back(std::move(stage));
  }
  return shares;
}

TEST(Roster, EveryElementIsSavedByOneOfItsHolders) {
  std::mt19937 random(sailor::testing::test_seed());
  for (int round = 0; round < 30; ++round) {
    const Assignment assignment = assignment_of(random_shares(random), round % 2 == 1);
    const Roster roster(assignment);
    for (const int layer_state : roster.layer_states()) {
      const StateLayout whole = layout_of(assignment.model, layer_state);
      std::vector<StateLayout> saved;
      for (const int rank : roster.holders_of(layer_state)) {
        const auto slices = roster.saved_slices(rank, layer_state);
        saved.push_back(shard_of(whole, slices));
        for (const Slice& slice : slices) EXPECT_TRUE(span_of(roster.held_shard(rank, layer_state), slice));
      }
      for (const TransferUnit& unit : transfer_units_of(whole, saved)) EXPECT_THAT(unit.holders, SizeIs(1));
    }
  }
}

TEST(Roster, AShardedOptimizerHasOneHolderPerElementAndNearlyEqualShards) {
  const Assignment assignment = assignment_of({{0, 5, {3, 3, 2}}}, true);
  const Roster roster(assignment);
  std::vector<std::int64_t> held(3);
  for (const int layer_state : roster.layer_states()) {
    for (int rank = 0; rank < 3; ++rank)
      held[static_cast<std::size_t>(rank)] += roster.held_shard(rank, layer_state).size;
  }
  const std::int64_t all = stage_parameters(assignment.model, 0, 5);
  EXPECT_EQ(held[0] + held[1] + held[2], all);
  for (const std::int64_t share : held)
    EXPECT_NEAR(static_cast<double>(share), static_cast<double>(all) / 3, 0.05 * static_cast<double>(all));
}

TEST(Roster, SumsEachShardOverTheReplicasThatHaveItWhateverTheirTensorParallelSizes) {
  const Roster roster(assignment_of({{0, 5, {5, 3}, {2, 1}}}, false));
  EXPECT_THAT(roster.group_of(1), ElementsAre(0, 1));
  EXPECT_THAT(roster.group_of(2), ElementsAre(2));
  EXPECT_EQ(roster.tensor_parallel_rank_of(1), (TensorParallelRank{1, 2}));
  std::vector<std::vector<int>> holders;
  for (const TransferUnit& unit : roster.transfer_units_of(layer_state_of(1))) holders.push_back(unit.holders);
  EXPECT_THAT(holders, ElementsAre(ElementsAre(0, 1, 2), ElementsAre(0, 2), ElementsAre(1, 2)));
}

}  // namespace
}  // namespace sailor::trainer
