// Views of several tensors at once: layers that compute with them learn what they would learn with the tensors.
#include "trainer/model/parameters.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "tests/trainer/support/assignments.h"
#include "trainer/model/stage_model.h"

namespace sailor::trainer::testing {
namespace {

Parameters parameters_of(const ModelSpec& spec, int layer_state, at::ScalarType type, std::int64_t padding = 0) {
  const StateLayout layout = layout_of(spec, layer_state);
  const at::Tensor weights = at::arange(layout.size + padding, at::kFloat).to(type);
  weights.narrow(0, layout.size, padding).zero_();
  return {layout, weights};
}

constexpr int kFirstBlock = layer_state_of(1);

TEST(Parameters, ShowAdjacentWeightsOfQueryKeyAndValueAsOneTensor) {
  const Parameters block = parameters_of(tiny_model(ModelFamily::kLlama), kFirstBlock, at::kFloat);
  const at::Tensor joined = block.find(kJoinedQueryKeyValue);
  ASSERT_TRUE(joined.defined());
  const auto weight = [&](const char* name) { return block.at(std::string("attention.") + name + ".weight"); };
  EXPECT_TRUE(joined.equal(at::cat({weight("query"), weight("key"), weight("value")})));
}

TEST(Parameters, DoNotJoinWeightsWithABiasBetweenThem) {
  const Parameters block = parameters_of(tiny_model(ModelFamily::kGpt2), kFirstBlock, at::kFloat);
  EXPECT_FALSE(block.find(kJoinedQueryKeyValue).defined());
}

class GradientsOfJoinedWeights : public ::testing::TestWithParam<at::ScalarType> {};

TEST_P(GradientsOfJoinedWeights, LieWhereThoseOfTheTensorsLie) {
  Parameters block = parameters_of(tiny_model(ModelFamily::kLlama), kFirstBlock, GetParam());
  torch::autograd::backward({block.at(kJoinedQueryKeyValue).sum()}, {});
  block.collect_gradients();
  for (const TensorLayout& layout : block.layout().tensors) {
    const bool is_joined = layout.name == "attention.query.weight" || layout.name == "attention.key.weight" ||
                           layout.name == "attention.value.weight";
    EXPECT_TRUE(view_of(block.gradient(), layout).eq(is_joined ? 1 : 0).all().item<bool>()) << layout.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Precisions, GradientsOfJoinedWeights, ::testing::Values(at::kFloat, at::kBFloat16),
                         [](const auto& type) { return std::string(toString(type.param)); });

TEST(Parameters, KeepThePaddingOfAVocabularyOutOfItsGradient) {
  const ModelSpec spec = tiny_model();
  Parameters words = parameters_of(spec, kTokenEmbedding, at::kBFloat16, 3 * std::int64_t{spec.hidden_size});
  EXPECT_EQ(words.padded("tokens.weight").size(0), spec.vocab_size + 3);
  EXPECT_EQ(words.weights().numel(), words.layout().size);
  torch::autograd::backward({words.padded("tokens.weight").sum()}, {});
  words.collect_gradients();
  EXPECT_TRUE(words.gradient().eq(1).all().item<bool>());
}

// Words that do not exist must not take probability from those that do.
TEST(StageModel, InBf16ComputesTheLossOfAVocabularyThatIsPadded) {
  ModelSpec spec = tiny_model();
  spec.vocab_size = 250;
  LayerStates states;
  for (const int id : all_layer_states(spec)) states[id] = initial_state(spec, layout_of(spec, id), 1);
  const auto loss_in = [&](Precision precision) {
    StageModel model({.spec = spec, .first_layer = 0, .last_layer = spec.layer_count(), .precision = precision},
                     states);
    for (auto& [id, parameters] : model.parameters()) parameters.weights().copy_(states.at(id).weights);
    const at::Tensor tokens = at::arange(48, at::kLong).view({2, 24});
    return model.infer(tokens, tokens.remainder(spec.vocab_size)).item<double>();
  };
  EXPECT_NEAR(loss_in(Precision::kBf16) / loss_in(Precision::kFp32), 1, 2e-3);
}

}  // namespace
}  // namespace sailor::trainer::testing
