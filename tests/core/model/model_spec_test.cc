#include "core/model/model_spec.h"

#include <limits>

#include <gtest/gtest.h>

#include "core/model/size_limits.h"
#include "core/model/tensor_parallel.h"

namespace sailor {
namespace {

std::int64_t all_parameters(const char* name) {
  const ModelSpec model = find_model(name).value();
  return stage_parameters(model, 0, model.layer_count());
}

TEST(ModelCatalog, HasThePublishedNumbersOfParameters) {
  EXPECT_EQ(all_parameters("gpt2"), 124'439'808);
  EXPECT_EQ(all_parameters("gpt2-xl"), 1'557'611'200);
  EXPECT_EQ(all_parameters("opt-125m"), 125'239'296);
  EXPECT_EQ(all_parameters("opt-350m"), 331'196'416);
  EXPECT_EQ(all_parameters("gpt-neo-2.7b"), 2'651'307'520);
  EXPECT_EQ(all_parameters("llama-2-7b"), 6'738'415'616);
  EXPECT_EQ(all_parameters("llama-3-8b"), 8'030'261'248);
}

TEST(ModelCatalog, EveryModelCanBeBuilt) {
  for (const ModelSpec& model : model_catalog()) {
    EXPECT_TRUE(validated(model).has_value()) << model.name;
  }
}

TEST(ModelCatalog, FamiliesHaveTheirActivationsPositionsAndWindows) {
  EXPECT_EQ(find_model("opt-125m").value().activation, Activation::kRelu);
  EXPECT_TRUE(find_model("opt-350m").value().post_norm);
  EXPECT_EQ(find_model("gpt-neo-1.3b").value().local_window, 256);
  EXPECT_EQ(find_model("llama-3-8b").value().rope_theta, 500'000);
  EXPECT_EQ(find_model("llama-2-7b").value().rope_theta, 10'000);
}

TEST(ModelSpec, EverySecondBlockIsLocalStartingWithTheSecond) {
  const ModelSpec neo = find_model("gpt-neo-1.3b").value();
  EXPECT_FALSE(neo.is_local(1));
  EXPECT_TRUE(neo.is_local(2));
  EXPECT_FALSE(find_model("gpt2").value().is_local(2));
}

TEST(ModelSpec, TheLongestSequenceLeavesOutTheReservedPositionsAndHasNoLimitWithRotaryOnes) {
  EXPECT_EQ(find_model("gpt2").value().longest_sequence(), 1024);
  EXPECT_EQ(find_model("opt-125m").value().longest_sequence(), 2048) << "OPT has 2050 rows and reserves two";
  EXPECT_EQ(find_model("llama-3-8b").value().longest_sequence(), std::nullopt);
}

TEST(ModelSpec, AModelWhosePositionsAreAllReservedIsRefused) {
  ModelSpec model = find_model("opt-125m").value();
  model.max_positions = 2;
  const auto checked = validated(model);
  ASSERT_FALSE(checked.has_value());
  EXPECT_NE(
      checked.error().message.find("maxPositions is 2; family opt has learned positions, so it must be at least 3"),
      std::string::npos)
      << checked.error().message;
  model.max_positions = 3;
  EXPECT_TRUE(validated(model).has_value());
}

TEST(ModelCatalog, AnErrorAboutAnUnknownNameListsTheKnownOnes) {
  const auto found = find_model("gpt-5");
  ASSERT_FALSE(found.has_value());
  EXPECT_EQ(found.error().code, ErrorCode::kNotFound);
  EXPECT_NE(found.error().message.find("opt-350m"), std::string::npos);
}

TEST(ModelSpec, ATiedEmbeddingCountsOnceOnlyIfTheStageHasFirstAndLastLayer) {
  const ModelSpec model = find_model("gpt2").value();
  const int layers = model.layer_count();
  const std::int64_t split = stage_parameters(model, 0, 1) + stage_parameters(model, 1, layers);
  EXPECT_EQ(split - stage_parameters(model, 0, layers), std::int64_t{50257} * 768);
}

TEST(ModelSpec, TheUsualFfnSizeStaysWithinItsType) {
  EXPECT_EQ(usual_ffn_size(1024), 4096);
  EXPECT_EQ(usual_ffn_size(std::numeric_limits<int>::max()), std::numeric_limits<int>::max());
}

TEST(ModelSpec, RefusesHeadsThatDoNotDivideTheHiddenSize) {
  ModelSpec model = find_model("tiny-gpt2").value();
  model.heads = 3;
  model.kv_heads = 3;
  const auto checked = validated(model);
  ASSERT_FALSE(checked.has_value());
  EXPECT_NE(checked.error().message.find("not a multiple of heads 3"), std::string::npos);
}

TEST(ModelSpec, RefusesNumbersOfLayersThatNoManifestMayState) {
  ModelSpec model = find_model("tiny-gpt2").value();
  for (const int blocks : {0, kMostBlocks + 1}) {
    model.blocks = blocks;
    EXPECT_FALSE(validated(model)) << blocks;
  }
}

TEST(MaxTensorParallel, EveryGpuHasAKeyValueHead) {
  EXPECT_EQ(max_tensor_parallel(*find_model("llama-3-8b")), 8);
  EXPECT_EQ(max_tensor_parallel(*find_model("gpt2")), 12);
}

TEST(MaxTensorParallel, DividesTheSequenceWithSequenceParallelism) {
  JobSpec job;
  job.model = *find_model("gpt2");
  job.training.sequence_length = 6 * 1024 + 4;
  EXPECT_EQ(max_tensor_parallel(job), 12);
  job.training.sequence_parallelism = SequenceParallelism::kAlways;
  EXPECT_EQ(max_tensor_parallel(job), 4);
}

}  // namespace
}  // namespace sailor
