#include "trainer/elastic/state/held_state.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "tests/trainer/support/assignments.h"

namespace sailor::trainer {
namespace {

const ModelSpec kModel = testing::tiny_model();
constexpr int kLayerState = 3;  // a block

LayerState state_of_shard(TensorParallelRank place) {
  const StateLayout whole = layout_of(kModel, kLayerState);
  LayerState state = initial_state(kModel, shard_of(whole, shard_slices(whole, place)), 7);
  state.momentum = state.weights + 1;
  state.variance = state.weights + 2;
  return state;
}

void expect_has_all_of(const LayerState& state, const LayerState& some) {
  const auto slices = slices_of(some.layout);
  const LayerState copy = empty_state(some.layout);
  copy_slices(slices, state, copy);
  EXPECT_TRUE(at::equal(copy.weights, some.weights));
  EXPECT_TRUE(at::equal(copy.momentum, some.momentum));
  EXPECT_TRUE(at::equal(copy.variance, some.variance));
}

TEST(HeldState, KeepsStateThatArrivedForAGenerationThatNeverStartedBesideTheOldState) {
  const LayerState before = state_of_shard({.index = 0, .tensor_parallel = 2});
  const LayerState arrived = state_of_shard({.index = 1, .tensor_parallel = 3});  // overlaps it
  HeldState held{.layer_states = {{kLayerState, before}}, .arrived = {{kLayerState, arrived}}};
  held.join_arrived(kModel);
  EXPECT_TRUE(held.arrived.empty());
  expect_has_all_of(held.layer_states.at(kLayerState), before);
  expect_has_all_of(held.layer_states.at(kLayerState), arrived);
}

TEST(HeldState, IsWhatArrivedOnceTheGenerationHasStarted) {
  HeldState held{.layer_states = {{kLayerState, state_of_shard({.index = 0, .tensor_parallel = 2})}},
                 .arrived = {{kLayerState, state_of_shard({.index = 1, .tensor_parallel = 2})}}};
  held.keep_arrived();
  held.join_arrived(kModel);  // at the next rendezvous
  EXPECT_EQ(held.slices().own.at(kLayerState), slices_of(state_of_shard({.index = 1, .tensor_parallel = 2}).layout));
}

}  // namespace
}  // namespace sailor::trainer
