// A checkpoint written by the workers of one plan, read by those of another.
#include "trainer/checkpoint/assemble.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/trainer/support/assignments.h"
#include "tests/trainer/support/family_name.h"

namespace sailor::trainer {
namespace {

using ::testing::HasSubstr;

// Who holds what of a piece: tensor-parallel shards, each of them in equal shares of some replicas.
struct Layout {
  int degree;
  int shares;
};

std::vector<Piece> parts_of(const Piece& whole, const Layout& layout) {
  std::vector<Piece> parts;
  for (int index = 0; index < layout.degree; ++index) {
    for (int share = 0; share < layout.shares; ++share) {
      std::vector<Range> ranges;
      for (const Range& range : shard_ranges(whole, {index, layout.degree})) {
        const Range mine = share_of(range, share, layout.shares);
        if (mine.begin < mine.end) ranges.push_back(mine);
      }
      parts.push_back(part_of(whole, ranges));
    }
  }
  return parts;
}

// Element i of the whole piece has the weight i, so that every misplaced one is seen.
PieceImage image_of(const Piece& whole, const Piece& part, int writer) {
  std::vector<float> weights(static_cast<std::size_t>(part.size));
  for (const Range& range : ranges_of(part)) {
    const Block from = *block_of(whole, range);
    const Block into = *block_of(part, range);
    for (std::int64_t row = 0; row < from.rows; ++row) {
      for (std::int64_t i = 0; i < from.length; ++i) {
        const auto place = static_cast<std::size_t>(into.offset + row * into.stride + i);
        weights[place] = static_cast<float>(from.offset + row * from.stride + i);
      }
    }
  }
  PieceImage image{part.id, writer, ranges_of(part), weights, weights, weights};
  for (float& value : image.momentum) value += 0.25F;
  for (float& value : image.variance) value += 0.5F;
  return image;
}

// Only whole tensors' first holders write what shards have in common.
std::vector<Piece> kept_parts(const Piece& whole, const Layout& layout) {
  std::vector<Piece> kept;
  const auto parts = parts_of(whole, layout);
  for (int writer = 0; writer < std::ssize(parts); ++writer) {
    std::vector<Range> ranges;
    for (const Parcel& parcel : parcels_of(whole, parts)) {
      if (!parcel.holders.empty() && parcel.holders.front() == writer) {
        ranges.insert(ranges.end(), parcel.ranges.begin(), parcel.ranges.end());
      }
    }
    kept.push_back(part_of(whole, ranges));
  }
  return kept;
}

class Assemble : public ::testing::TestWithParam<ModelFamily> {
 protected:
  Manifest write(const Piece& whole, const Layout& layout) {
    Manifest manifest{.step = 4, .first_loss = 1, .model = model_, .images = {}};
    int writer = 0;
    for (const Piece& part : kept_parts(whole, layout)) {
      EXPECT_TRUE(write_image(folder_, 4, image_of(whole, part, writer)));
      manifest.images.push_back({whole.id, writer++});
    }
    return manifest;
  }

  ModelSpec model_ = testing::tiny_model(GetParam());
  testing::Scratch scratch_;
  std::filesystem::path folder_ = step_folder(scratch_.folder(), 4);
};

TEST_P(Assemble, EveryLayoutReadsWhatEveryOtherWrote) {
  const std::vector<Layout> layouts = {{1, 1}, {1, 3}, {2, 1}, {2, 2}};
  for (const int id : all_pieces(model_)) {
    const Piece whole = piece_of(model_, id);
    for (const Layout& writers : layouts) {
      const Manifest manifest = write(whole, writers);
      for (const Layout& readers : layouts) {
        for (const Piece& part : parts_of(whole, readers)) {
          const auto image = assemble(folder_, manifest, part);
          ASSERT_TRUE(image) << image.error().message;
          const PieceImage expected = image_of(whole, part, 0);
          EXPECT_EQ(image->weights, expected.weights);
          EXPECT_EQ(image->momentum, expected.momentum);
          EXPECT_EQ(image->variance, expected.variance);
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
  const Piece whole = piece_of(model_, kTokenEmbedding);
  Manifest manifest = write(whole, {2, 1});
  manifest.images.pop_back();
  EXPECT_THAT(assemble(folder_, manifest, whole).error().message, HasSubstr("piece 0 lacks 4096 of 8192 elements"));
}

TEST_P(AssembleOne, NoticesRangesOfAnotherModel) {
  const Piece whole = piece_of(model_, kTokenEmbedding);
  Manifest manifest = write(whole, {2, 1});
  manifest.model.vocab_size = 200;
  EXPECT_THAT(assemble(folder_, manifest, piece_of(manifest.model, kTokenEmbedding)).error().message,
              HasSubstr("has ranges that the model does not have"));
}

}  // namespace
}  // namespace sailor::trainer
