#include "trainer/model/state_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sailor::trainer {
namespace {

using ::testing::ElementsAre;

std::int64_t size_of(const ModelSpec& spec, const std::vector<int>& layer_states) {
  std::int64_t sum = 0;
  for (const int id : layer_states) sum += layout_of(spec, id).size;
  return sum;
}

TEST(LayerStates, OfEveryStageHaveAsManyParametersAsThePlannerCounts) {
  for (const ModelSpec& spec : model_catalog()) {
    const int layers = spec.layer_count();
    for (const auto& [first, last] :
         {std::pair(0, layers), {0, 1}, {0, layers / 2}, {layers / 2, layers}, {1, 2}, {layers - 1, layers}}) {
      EXPECT_EQ(size_of(spec, layer_states_of_stage(spec, first, last)), stage_parameters(spec, first, last))
          << spec.name << " [" << first << ", " << last << ")";
    }
  }
}

TEST(LayerStates, HaveNoGapsOrOverlaps) {
  for (const ModelSpec& spec : model_catalog()) {
    for (const int id : {0, 1, 2, layer_state_count(spec) - 1}) {
      std::int64_t end = 0;
      for (const TensorLayout& tensor : layout_of(spec, id).tensors) {
        EXPECT_EQ(tensor.offset, end);
        end += tensor.size();
      }
      EXPECT_EQ(layout_of(spec, id).size, end);
    }
  }
}

TEST(LayerStates, ATiedEmbeddingIsHeldByTheFirstAndTheLastStage) {
  const ModelSpec tied = *find_model("tiny-gpt2");  // layers 0 to 6
  EXPECT_THAT(layer_states_of_stage(tied, 0, 2), ElementsAre(0, 1, 2));
  EXPECT_THAT(layer_states_of_stage(tied, 2, 4), ElementsAre(3, 4));
  EXPECT_THAT(layer_states_of_stage(tied, 4, 6), ElementsAre(0, 5, 6));
  const ModelSpec untied = *find_model("tiny-llama");
  EXPECT_THAT(layer_states_of_stage(untied, 4, 6), ElementsAre(5, 6));
}

TEST(LayerStates, NormsAndBiasesAreNotDecayed) {
  for (const int id : all_layer_states(*find_model("tiny-gpt2"))) {
    for (const TensorLayout& tensor : layout_of(*find_model("tiny-gpt2"), id).tensors) {
      EXPECT_EQ(tensor.is_decayed, tensor.shape.size() == 2) << tensor.name;
    }
  }
}

}  // namespace
}  // namespace sailor::trainer
