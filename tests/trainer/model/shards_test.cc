#include "trainer/model/shards.h"

#include <algorithm>
#include <numeric>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/model/tensor_parallel.h"

namespace sailor::trainer {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

Piece shard_piece(const Piece& whole, Shard shard) { return part_of(whole, shard_ranges(whole, shard)); }

// The elements of a range as places in the whole flat piece, in the order in which they travel.
std::vector<std::int64_t> places(const Piece& part, const Range& range) {
  const Block block = *block_of(part, range);
  std::vector<std::int64_t> list;
  for (std::int64_t row = 0; row < block.rows; ++row) {
    for (std::int64_t i = 0; i < block.length; ++i) list.push_back(block.offset + row * block.stride + i);
  }
  return list;
}

// A worker's flat part of the piece whose elements are 0, 1, 2, ...
std::vector<std::int64_t> numbers_of(const Piece& whole, const Piece& part) {
  std::vector<std::int64_t> flat(static_cast<std::size_t>(part.size), -1);
  for (const Range& range : ranges_of(part)) {
    const auto from = places(whole, range);
    const auto to = places(part, range);
    for (std::size_t i = 0; i < to.size(); ++i) flat[static_cast<std::size_t>(to[i])] = from[i];
  }
  return flat;
}

ModelSpec small(std::mt19937& random) {
  const auto one_of = [&](std::vector<int> values) {
    return values[std::uniform_int_distribution<std::size_t>(0, values.size() - 1)(random)];
  };
  const int kv_heads = one_of({2, 3, 4, 8});
  const int heads = kv_heads * one_of({1, 2, 3});
  const bool is_llama = one_of({0, 1}) == 1;
  return {.name = "small",
          .family = is_llama ? ModelFamily::kLlama : ModelFamily::kOpt,
          .blocks = 1,
          .hidden_size = heads * one_of({2, 4}),
          .heads = heads,
          .kv_heads = is_llama ? kv_heads : heads,
          .ffn_size = one_of({11, 16, 24}),
          .vocab_size = one_of({13, 32}),
          .max_positions = is_llama ? 0 : 6,
          .tied_embeddings = one_of({0, 1}) == 1,
          .embedding_size = is_llama ? 0 : 8};
}

TEST(Shards, OfOneGroupHoldEverySplitElementOnceAndTheOthersAll) {
  std::mt19937 random(1);
  for (int round = 0; round < 60; ++round) {
    const ModelSpec spec = small(random);
    const int degree = std::uniform_int_distribution(1, max_tensor_parallel(spec))(random);
    for (const int id : all_pieces(spec)) {
      const Piece whole = piece_of(spec, id);
      std::vector<int> count(static_cast<std::size_t>(whole.size));
      for (int index = 0; index < degree; ++index) {
        for (const auto number : numbers_of(whole, shard_piece(whole, {index, degree})))
          ++count.at(static_cast<std::size_t>(number));
      }
      for (const Slice& slice : whole.slices) {
        const auto first = count.begin() + slice.offset;
        EXPECT_THAT(std::vector<int>(first, first + slice.size()), Each(slice.cut.is_by_tensor_parallel ? 1 : degree))
            << slice.name;
      }
    }
  }
}

TEST(Shards, OfDegreeOneAreTheWholePiece) {
  for (const ModelSpec& spec : model_catalog()) {
    for (const int id : {0, 1, 2, piece_count(spec) - 1}) {
      const Piece whole = piece_of(spec, id);
      EXPECT_EQ(shard_piece(whole, {0, 1}), whole);
    }
  }
}

TEST(Shards, KeepTheHeadsThatShareAKeyWithIt) {
  const ModelSpec llama = *find_model("llama-3-8b");  // 32 heads, 8 key-value heads of 128
  const Piece shard = shard_piece(piece_of(llama, 2), {1, 4});
  const auto shape_of = [&](const std::string& name) {
    return std::ranges::find(shard.slices, name, &Slice::name)->shape;
  };
  EXPECT_THAT(shape_of("attention.query.weight"), ElementsAre(8 * 128, 4096));
  EXPECT_THAT(shape_of("attention.key.weight"), ElementsAre(2 * 128, 4096));
  EXPECT_THAT(shape_of("attention.output.weight"), ElementsAre(4096, 8 * 128));
  EXPECT_THAT(shape_of("attention_norm.weight"), ElementsAre(4096));
}

// Shards of random degrees, and random shares of them as a sharded optimizer has them.
std::vector<Piece> random_parts(const Piece& whole, int max_degree, std::mt19937& random) {
  std::vector<Piece> parts;
  const int groups = std::uniform_int_distribution(1, 3)(random);
  for (int group = 0; group < groups; ++group) {
    const int degree = std::uniform_int_distribution(1, max_degree)(random);
    const int shares = std::uniform_int_distribution(1, 3)(random);
    for (int index = 0; index < degree; ++index) {
      auto ranges = shard_ranges(whole, {index, degree});
      for (Range& range : ranges) range = share_of(range, index % shares, shares);
      parts.push_back(part_of(whole, ranges));
    }
  }
  return parts;
}

// The holders that the parcels name hold the range's elements, in one order; nobody else holds any of them.
void expect_held_by(const Parcel& parcel, const Range& range, const Piece& whole, const std::vector<Piece>& parts) {
  const auto elements = places(whole, range);
  for (int index = 0; index < std::ssize(parts); ++index) {
    const Piece& part = parts[static_cast<std::size_t>(index)];
    auto numbers = numbers_of(whole, part);
    if (std::ranges::binary_search(parcel.holders, index)) {
      std::vector<std::int64_t> seen;
      for (const auto place : places(part, range)) seen.push_back(numbers.at(static_cast<std::size_t>(place)));
      EXPECT_EQ(seen, elements);
    } else {
      std::ranges::sort(numbers);
      std::vector<std::int64_t> common;
      std::ranges::set_intersection(numbers, elements, std::back_inserter(common));
      EXPECT_THAT(common, IsEmpty());
    }
  }
}

TEST(Parcels, HaveEveryElementExactlyOnceAndEachHolderEntirelyOrNotAtAll) {
  const auto seed = std::random_device{}();
  RecordProperty("seed", std::to_string(seed));
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 25; ++round) {
    const ModelSpec spec = small(random);
    for (const int id : all_pieces(spec)) {
      const Piece whole = piece_of(spec, id);
      const auto parts = random_parts(whole, max_tensor_parallel(spec), random);
      std::vector<int> count(static_cast<std::size_t>(whole.size));
      for (const Parcel& parcel : parcels_of(whole, parts)) {
        for (const Range& range : parcel.ranges) {
          for (const auto element : places(whole, range)) ++count.at(static_cast<std::size_t>(element));
          expect_held_by(parcel, range, whole, parts);
        }
      }
      EXPECT_THAT(count, Each(1));
    }
  }
}

TEST(Parcels, OfEqualReplicasAreOneForEveryPlaceInTheGroupAndOneOfWhatAllHold) {
  const Piece block = piece_of(*find_model("tiny-gpt2"), 2);
  std::vector<Piece> parts;
  for (int rank = 0; rank < 4; ++rank) parts.push_back(shard_piece(block, {rank % 2, 2}));
  const auto parcels = parcels_of(block, parts);
  ASSERT_EQ(parcels.size(), 3);
  EXPECT_THAT(parcels[0].holders, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(parcels[1].holders, ElementsAre(0, 2));
  EXPECT_THAT(parcels[2].holders, ElementsAre(1, 3));
  EXPECT_EQ(size_of(block, parcels[0]) + size_of(block, parcels[1]) + size_of(block, parcels[2]), block.size);
}

TEST(Parcels, WithoutPartsAreOneThatNobodyHolds) {
  const Piece block = piece_of(*find_model("tiny-gpt2"), 2);
  const auto parcels = parcels_of(block, {});
  ASSERT_EQ(parcels.size(), 1);
  EXPECT_THAT(parcels[0].holders, IsEmpty());
  EXPECT_EQ(parcels[0].ranges, ranges_of(block));
}

TEST(Blocks, OfRowsAreOneStretchAndOfColumnsAStretchPerRow) {
  const Piece block = piece_of(*find_model("tiny-gpt2"), 2);
  const auto slice_named = [&](const std::string& name) {
    return *std::ranges::find(block.slices, name, &Slice::name);
  };
  const Slice up = slice_named("ffn.up.weight");
  EXPECT_EQ(*block_of(block, {up.index, 1, 3}), (Block{up.offset + up.shape[1], 1, 2 * up.shape[1], up.size()}));
  const Slice down = slice_named("ffn.down.weight");
  EXPECT_EQ(*block_of(block, {down.index, 1, 3}), (Block{down.offset + 1, down.shape[0], 2, down.shape[1]}));
  EXPECT_EQ(block_of(shard_piece(block, {0, 2}), {up.index, 0, up.shape[0]}), std::nullopt);
}

}  // namespace
}  // namespace sailor::trainer
