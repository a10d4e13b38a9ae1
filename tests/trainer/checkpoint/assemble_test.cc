// A checkpoint written by the workers of one plan, read by those of another.
#include "trainer/checkpoint/assemble.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/trainer/support/assignments.h"
#include "tests/trainer/support/family_name.h"

namespace sailor::trainer {
namespace {

using ::testing::HasSubstr;

// Who holds what of a layer state: tensor-parallel shards, each of them in equal shares of some replicas.
struct Layout {
  int tensor_parallel;
  int shares;
};

std::vector<StateLayout> shards_of(const StateLayout& whole, const Layout& layout) {
  std::vector<StateLayout> shards;
  for (int index = 0; index < layout.tensor_parallel; ++index) {
    for (int share = 0; share < layout.shares; ++share) {
      std::vector<Slice> slices;
      for (const Slice& slice : shard_slices(whole, {index, layout.tensor_parallel})) {
        const Slice mine = subslice(slice, share, layout.shares);
        if (mine.begin < mine.end) slices.push_back(mine);
      }
      shards.push_back(shard_of(whole, slices));
    }
  }
  return shards;
}

// Element i of the whole layer state has the weight i, so that every misplaced one is seen.
SavedShard saved_shard_of(const StateLayout& whole, const StateLayout& shard, int writer) {
  std::vector<float> weights(static_cast<std::size_t>(shard.size));
  for (const Slice& slice : slices_of(shard)) {
    const StridedSpan from = *span_of(whole, slice);
    const StridedSpan into = *span_of(shard, slice);
    for (std::int64_t row = 0; row < from.rows; ++row) {
      for (std::int64_t i = 0; i < from.length; ++i) {
        const auto place = static_cast<std::size_t>(into.offset + row * into.stride + i);
        weights[place] = static_cast<float>(from.offset + row * from.stride + i);
      }
    }
  }
  SavedShard saved{shard.id, writer, slices_of(shard), weights, weights, weights};
  for (float& value : saved.momentum) value += 0.25F;
  for (float& value : saved.variance) value += 0.5F;
  return saved;
}

// Only whole tensors' first holders write what shards have in common.
std::vector<StateLayout> kept_shards(const StateLayout& whole, const Layout& layout) {
  std::vector<StateLayout> kept;
  const auto shards = shards_of(whole, layout);
  for (int writer = 0; writer < std::ssize(shards); ++writer) {
    std::vector<Slice> slices;
    for (const TransferUnit& unit : transfer_units_of(whole, shards)) {
      if (!unit.holders.empty() && unit.holders.front() == writer) {
        slices.insert(slices.end(), unit.slices.begin(), unit.slices.end());
      }
    }
    kept.push_back(shard_of(whole, slices));
  }
  return kept;
}

class Assemble : public ::testing::TestWithParam<ModelFamily> {
 protected:
  Manifest write(const StateLayout& whole, const Layout& layout) {
    Manifest manifest{.step = 4, .first_loss = 1, .model = model_, .files = {}};
    int writer = 0;
    for (const StateLayout& shard : kept_shards(whole, layout)) {
      EXPECT_TRUE(write_shard_file(folder_, 4, saved_shard_of(whole, shard, writer)));
      manifest.files.push_back({whole.id, writer++});
    }
    return manifest;
  }

  ModelSpec model_ = testing::tiny_model(GetParam());
  testing::Scratch scratch_;
  std::filesystem::path folder_ = step_folder(scratch_.folder(), 4);
};

TEST_P(Assemble, EveryLayoutReadsWhatEveryOtherWrote) {
  const std::vector<Layout> layouts = {{1, 1}, {1, 3}, {2, 1}, {2, 2}};
  for (const int id : all_layer_states(model_)) {
    const StateLayout whole = layout_of(model_, id);
    for (const Layout& writers : layouts) {
      const Manifest manifest = write(whole, writers);
      for (const Layout& readers : layouts) {
        for (const StateLayout& shard : shards_of(whole, readers)) {
          const auto saved = assemble(folder_, manifest, shard);
          ASSERT_TRUE(saved) << saved.error().message;
          const SavedShard expected = saved_shard_of(whole, shard, 0);
          EXPECT_EQ(saved->weights, expected.weights);
          EXPECT_EQ(saved->momentum, expected.momentum);
          EXPECT_EQ(saved->variance, expected.variance);
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Families, Assemble,
                         ::testing::Values(ModelFamily::kGpt2, ModelFamily::kOpt, ModelFamily::kLlama),
                         testing::family_name);

using AssembleOne = Assemble;
INSTANTIATE_TEST_SUITE_P(OneFamily, AssembleOne, ::testing::Values(ModelFamily::kGpt2), testing::family_name);

TEST_P(AssembleOne, SaysWhatACheckpointLacks) {
  const StateLayout whole = layout_of(model_, kTokenEmbedding);
  Manifest manifest = write(whole, {2, 1});
  manifest.files.pop_back();
  EXPECT_THAT(assemble(folder_, manifest, whole).error().message,
              HasSubstr("layer state 0 lacks 4096 of 8192 elements"));
}

TEST_P(AssembleOne, NoticesSlicesOfAnotherModel) {
  const StateLayout whole = layout_of(model_, kTokenEmbedding);
  Manifest manifest = write(whole, {2, 1});
  manifest.model.vocab_size = 200;
  EXPECT_THAT(assemble(folder_, manifest, layout_of(manifest.model, kTokenEmbedding)).error().message,
              HasSubstr("has slices that the model does not have"));
}

}  // namespace
}  // namespace sailor::trainer
