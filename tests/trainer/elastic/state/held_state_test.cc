#include "trainer/elastic/state/held_state.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "tests/trainer/support/assignments.h"

namespace sailor::trainer {
namespace {

const ModelSpec kModel = testing::tiny_model();
constexpr int kPiece = 3;  // a block

PieceState shard_of(Shard shard) {
  const Piece whole = piece_of(kModel, kPiece);
  PieceState state = initial_state(kModel, part_of(whole, shard_ranges(whole, shard)), 7);
  state.momentum = state.weights + 1;
  state.variance = state.weights + 2;
  return state;
}

void expect_has_all_of(const PieceState& state, const PieceState& some) {
  const auto ranges = ranges_of(some.part);
  const PieceState copy = empty_state(some.part);
  copy_ranges(ranges, state, copy);
  EXPECT_TRUE(at::equal(copy.weights, some.weights));
  EXPECT_TRUE(at::equal(copy.momentum, some.momentum));
  EXPECT_TRUE(at::equal(copy.variance, some.variance));
}

TEST(HeldState, WhatArrivedForAGenerationThatNeverBeganIsHeldBesideWhatWasThere) {
  const PieceState before = shard_of({.index = 0, .degree = 2});
  const PieceState arrived = shard_of({.index = 1, .degree = 3});  // overlaps it
  HeldState held{.pieces = {{kPiece, before}}, .arrived = {{kPiece, arrived}}};
  held.join_arrived(kModel);
  EXPECT_TRUE(held.arrived.empty());
  expect_has_all_of(held.pieces.at(kPiece), before);
  expect_has_all_of(held.pieces.at(kPiece), arrived);
}

TEST(HeldState, OfAGenerationThatBeganIsWhatArrived) {
  HeldState held{.pieces = {{kPiece, shard_of({.index = 0, .degree = 2})}},
                 .arrived = {{kPiece, shard_of({.index = 1, .degree = 2})}}};
  held.keep_arrived();
  held.join_arrived(kModel);  // of the next meeting
  EXPECT_EQ(held.slices().own.at(kPiece), ranges_of(shard_of({.index = 1, .degree = 2}).part));
}

}  // namespace
}  // namespace sailor::trainer
