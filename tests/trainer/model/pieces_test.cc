#include "trainer/model/pieces.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sailor::trainer {
namespace {

using ::testing::ElementsAre;

std::int64_t size_of(const ModelSpec& spec, const std::vector<int>& pieces) {
  std::int64_t sum = 0;
  for (const int id : pieces) sum += piece_of(spec, id).size;
  return sum;
}

TEST(Pieces, OfEveryStageOfEveryModelAreTheParametersThatThePlannerCounts) {
  for (const ModelSpec& spec : model_catalog()) {
    const int layers = spec.layer_count();
    for (const auto& [first, last] :
         {std::pair(0, layers), {0, 1}, {0, layers / 2}, {layers / 2, layers}, {1, 2}, {layers - 1, layers}}) {
      EXPECT_EQ(size_of(spec, pieces_of_stage(spec, first, last)), stage_parameters(spec, first, last))
          << spec.name << " [" << first << ", " << last << ")";
    }
  }
}

TEST(Pieces, LieWithoutGapsAndOverlaps) {
  for (const ModelSpec& spec : model_catalog()) {
    for (const int id : {0, 1, 2, piece_count(spec) - 1}) {
      std::int64_t end = 0;
      for (const Slice& slice : piece_of(spec, id).slices) {
        EXPECT_EQ(slice.offset, end);
        end += slice.size();
      }
      EXPECT_EQ(piece_of(spec, id).size, end);
    }
  }
}

TEST(Pieces, ATiedEmbeddingIsHeldByTheFirstAndTheLastStage) {
  const ModelSpec tied = *find_model("tiny-gpt2");  // layers 0 to 6
  EXPECT_THAT(pieces_of_stage(tied, 0, 2), ElementsAre(0, 1, 2));
  EXPECT_THAT(pieces_of_stage(tied, 2, 4), ElementsAre(3, 4));
  EXPECT_THAT(pieces_of_stage(tied, 4, 6), ElementsAre(0, 5, 6));
  const ModelSpec untied = *find_model("tiny-llama");
  EXPECT_THAT(pieces_of_stage(untied, 4, 6), ElementsAre(5, 6));
}

TEST(Pieces, NormsAndBiasesAreNotDecayed) {
  for (const int id : all_pieces(*find_model("tiny-gpt2"))) {
    for (const Slice& slice : piece_of(*find_model("tiny-gpt2"), id).slices) {
      EXPECT_EQ(slice.is_decayed, slice.shape.size() == 2) << slice.name;
    }
  }
}

}  // namespace
}  // namespace sailor::trainer
