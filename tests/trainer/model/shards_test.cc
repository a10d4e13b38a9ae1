#include "trainer/model/shards.h"

#include <algorithm>
#include <numeric>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/model/tensor_parallel.h"
#include "tests/support/seed.h"

namespace sailor::trainer {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

StateLayout shard_layout(const StateLayout& whole, TensorParallelRank place) {
  return shard_of(whole, shard_slices(whole, place));
}

// The elements of a slice as places in the whole flat layer state, in the order in which they travel.
std::vector<std::int64_t> places(const StateLayout& shard, const Slice& slice) {
  const StridedSpan span = *span_of(shard, slice);
  std::vector<std::int64_t> list;
  for (std::int64_t row = 0; row < span.rows; ++row) {
    for (std::int64_t i = 0; i < span.length; ++i) list.push_back(span.offset + row * span.stride + i);
  }
  return list;
}

// A worker's flat shard of the layer state whose elements are 0, 1, 2, ...
std::vector<std::int64_t> numbers_of(const StateLayout& whole, const StateLayout& shard) {
  std::vector<std::int64_t> flat(static_cast<std::size_t>(shard.size), -1);
  for (const Slice& slice : slices_of(shard)) {
    const auto from = places(whole, slice);
    const auto to = places(shard, slice);
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

TEST(Shards, OfOneGroupContainEverySplitElementOnceAndAllReplicatedOnes) {
  std::mt19937 random(1);
  for (int round = 0; round < 60; ++round) {
    const ModelSpec spec = small(random);
    const int tensor_parallel = std::uniform_int_distribution(1, max_tensor_parallel(spec))(random);
    for (const int id : all_layer_states(spec)) {
      const StateLayout whole = layout_of(spec, id);
      std::vector<int> count(static_cast<std::size_t>(whole.size));
      for (int index = 0; index < tensor_parallel; ++index) {
        for (const auto number : numbers_of(whole, shard_layout(whole, {index, tensor_parallel})))
          ++count.at(static_cast<std::size_t>(number));
      }
      for (const TensorLayout& tensor : whole.tensors) {
        const auto first = count.begin() + tensor.offset;
        EXPECT_THAT(std::vector<int>(first, first + tensor.size()),
                    Each(tensor.cut.is_by_tensor_parallel ? 1 : tensor_parallel))
            << tensor.name;
      }
    }
  }
}

TEST(Shards, WithoutTensorParallelismAreTheWholeLayerState) {
  for (const ModelSpec& spec : model_catalog()) {
    for (const int id : {0, 1, 2, layer_state_count(spec) - 1}) {
      const StateLayout whole = layout_of(spec, id);
      EXPECT_EQ(shard_layout(whole, {0, 1}), whole);
    }
  }
}

TEST(Shards, KeepQueryHeadsWithTheirKeyValueHead) {
  const ModelSpec llama = *find_model("llama-3-8b");  // 32 heads, 8 key-value heads of 128
  const StateLayout shard = shard_layout(layout_of(llama, 2), {1, 4});
  const auto shape_of = [&](const std::string& name) {
    return std::ranges::find(shard.tensors, name, &TensorLayout::name)->shape;
  };
  EXPECT_THAT(shape_of("attention.query.weight"), ElementsAre(8 * 128, 4096));
  EXPECT_THAT(shape_of("attention.key.weight"), ElementsAre(2 * 128, 4096));
  EXPECT_THAT(shape_of("attention.output.weight"), ElementsAre(4096, 8 * 128));
  EXPECT_THAT(shape_of("attention_norm.weight"), ElementsAre(4096));
}

// Shards of random tensor-parallel sizes, and random shares of them as a sharded optimizer has them.
std::vector<StateLayout> random_shards(const StateLayout& whole, int largest_tensor_parallel, std::mt19937& random) {
  std::vector<StateLayout> shards;
  const int groups = std::uniform_int_distribution(1, 3)(random);
  for (int group = 0; group < groups; ++group) {
    const int tensor_parallel = std::uniform_int_distribution(1, largest_tensor_parallel)(random);
    const int shares = std::uniform_int_distribution(1, 3)(random);
    for (int index = 0; index < tensor_parallel; ++index) {
      auto slices = shard_slices(whole, {index, tensor_parallel});
      for (Slice& slice : slices) slice = subslice(slice, index % shares, shares);
      shards.push_back(shard_of(whole, slices));
    }
  }
  return shards;
}

// The holders that the units name hold the slice's elements, in one order; nobody else holds any of them.
void expect_held_by(const TransferUnit& unit, const Slice& slice, const StateLayout& whole,
                    const std::vector<StateLayout>& shards) {
  const auto elements = places(whole, slice);
  for (int index = 0; index < std::ssize(shards); ++index) {
    const StateLayout& shard = shards[static_cast<std::size_t>(index)];
    auto numbers = numbers_of(whole, shard);
    if (std::ranges::binary_search(unit.holders, index)) {
      std::vector<std::int64_t> seen;
      for (const auto place : places(shard, slice)) seen.push_back(numbers.at(static_cast<std::size_t>(place)));
      EXPECT_EQ(seen, elements);
    } else {
      std::ranges::sort(numbers);
      std::vector<std::int64_t> common;
      std::ranges::set_intersection(numbers, elements, std::back_inserter(common));
      EXPECT_THAT(common, IsEmpty());
    }
  }
}

TEST(TransferUnits, ContainEveryElementOnceAndAreHeldEntirelyOrNotAtAll) {
  std::mt19937 random(sailor::testing::test_seed());
  for (int round = 0; round < 25; ++round) {
    const ModelSpec spec = small(random);
    for (const int id : all_layer_states(spec)) {
      const StateLayout whole = layout_of(spec, id);
      const auto shards = random_shards(whole, max_tensor_parallel(spec), random);
      std::vector<int> count(static_cast<std::size_t>(whole.size));
      for (const TransferUnit& unit : transfer_units_of(whole, shards)) {
        for (const Slice& slice : unit.slices) {
          for (const auto element : places(whole, slice)) ++count.at(static_cast<std::size_t>(element));
          expect_held_by(unit, slice, whole, shards);
        }
      }
      EXPECT_THAT(count, Each(1));
    }
  }
}

TEST(TransferUnits, OfEqualReplicasAreOneForEveryPlaceInTheGroupAndOneOfWhatAllHold) {
  const StateLayout layer = layout_of(*find_model("tiny-gpt2"), 2);
  std::vector<StateLayout> shards;
  for (int rank = 0; rank < 4; ++rank) shards.push_back(shard_layout(layer, {rank % 2, 2}));
  const auto units = transfer_units_of(layer, shards);
  ASSERT_EQ(units.size(), 3);
  EXPECT_THAT(units[0].holders, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(units[1].holders, ElementsAre(0, 2));
  EXPECT_THAT(units[2].holders, ElementsAre(1, 3));
  EXPECT_EQ(units[0].elements + units[1].elements + units[2].elements, layer.size);
}

TEST(TransferUnits, WithoutShardsAreOneUnitWithoutHolders) {
  const StateLayout layer = layout_of(*find_model("tiny-gpt2"), 2);
  const auto units = transfer_units_of(layer, {});
  ASSERT_EQ(units.size(), 1);
  EXPECT_THAT(units[0].holders, IsEmpty());
  EXPECT_EQ(units[0].slices, slices_of(layer));
}

TEST(StridedSpans, OfRowsAreContiguousAndOfColumnsHaveOneRunPerRow) {
  const StateLayout layer = layout_of(*find_model("tiny-gpt2"), 2);
  const auto tensor_named = [&](const std::string& name) {
    return *std::ranges::find(layer.tensors, name, &TensorLayout::name);
  };
  const TensorLayout up = tensor_named("ffn.up.weight");
  EXPECT_EQ(*span_of(layer, {up.index, 1, 3}), (StridedSpan{up.offset + up.shape[1], 1, 2 * up.shape[1], up.size()}));
  const TensorLayout down = tensor_named("ffn.down.weight");
  EXPECT_EQ(*span_of(layer, {down.index, 1, 3}), (StridedSpan{down.offset + 1, down.shape[0], 2, down.shape[1]}));
  EXPECT_EQ(span_of(shard_layout(layer, {0, 2}), {up.index, 0, up.shape[0]}), std::nullopt);
}

}  // namespace
}  // namespace sailor::trainer
