// From a checkpoint to a Hugging Face model's folder, and from there into a job.
#include "trainer/weights/import_export.h"

#include <chrono>
#include <fstream>
#include <iterator>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/model/job_json.h"
#include "tests/trainer/support/assignments.h"
#include "trainer/checkpoint/folders.h"
#include "trainer/weights/hugging_face_config.h"
#include "trainer/weights/hugging_face_model.h"

namespace sailor::trainer {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

// Two checkpoints of a tiny LLaMA, whose weights are all the number of their step.
class Export : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const std::int64_t step : {2, 4}) {
      Manifest manifest{.step = step, .first_loss = 1, .model = model_, .files = {}, .sequence_length = 48};
      for (const int id : all_layer_states(model_)) {
        const StateLayout layer_state = layout_of(model_, id);
        const std::vector<float> values(static_cast<std::size_t>(layer_state.size), static_cast<float>(step));
        ASSERT_TRUE(write_shard_file(step_folder(folder_, step), step,
                                     {id, 0, slices_of(layer_state), values, values, values}));
        manifest.files.push_back({id, 0});
      }
      ASSERT_TRUE(write_manifest(step_folder(folder_, step), manifest));
    }
  }
  std::vector<float> exported_weights() {
    return HuggingFaceModel::open(into_, model_).value()->weights(kTokenEmbedding).value();
  }

  ModelSpec model_ = testing::tiny_model(ModelFamily::kLlama, false);
  testing::Scratch scratch_;
  std::filesystem::path folder_ = scratch_.folder() / "checkpoints";
  std::filesystem::path into_ = scratch_.folder() / "My_Model";
};

TEST_F(Export, WritesTheNewestCheckpointOrTheRequestedStep) {
  EXPECT_EQ(export_model({.checkpoints = folder_, .step = {}, .into = into_}).value(), 4);
  EXPECT_THAT(exported_weights(), Each(4.0F));
  EXPECT_EQ(export_model({.checkpoints = folder_, .step = 2, .into = into_}).value(), 2);
  EXPECT_THAT(exported_weights(), Each(2.0F));
}

TEST_F(Export, SaysWhereToLookIfThereIsNoCheckpoint) {
  EXPECT_THAT(export_model({.checkpoints = folder_, .step = 3, .into = into_}).error().message,
              HasSubstr("has no checkpoint of step 3; name a job's own folder"));
  EXPECT_THAT(export_model({.checkpoints = scratch_.folder(), .step = {}, .into = into_}).error().message,
              HasSubstr("has no complete checkpoint"));
}

// A folder may still have the parts of the model that the job began with.
TEST_F(Export, OverTheFilesOfAnotherModelIsWhatAJobThenReads) {
  ASSERT_TRUE(export_model({.checkpoints = folder_, .step = 2, .into = into_}));
  std::filesystem::rename(into_ / "model.safetensors", into_ / "model-00001-of-00001.safetensors");
  ASSERT_TRUE(export_model({.checkpoints = folder_, .step = 4, .into = into_}));
  EXPECT_THAT(exported_weights(), Each(4.0F));
}

// The model of a spec that was printed.
Result<ModelSpec> model_of(const std::string& spec) {
  const auto begin = spec.find('{');
  return model_from_json(Json::parse(spec.substr(begin, spec.find('\n', begin) - begin)), "model");
}

TEST_F(Export, WhatIsExportedCanBeImported) {
  ASSERT_TRUE(export_model({.checkpoints = folder_, .step = {}, .into = into_}));
  const std::string spec = import_model(into_).value();
  EXPECT_THAT(spec, HasSubstr("training: {initialWeights: \"" + into_.string() + "\"}"));
  ModelSpec expected = model_;
  expected.name = "my-model";
  EXPECT_EQ(model_of(spec).value(), expected);
}

TEST_F(Export, IsImportedUnderANameThatAModelMayHave) {
  const std::string longest(63, 'm');
  for (const auto& [folder, name] : {std::pair<std::string, std::string>("My_Model", "my-model"),
                                     {"My_Model/", "my-model"},
                                     {"My_Model/.", "my-model"},
                                     {"_m.", "m"},
                                     {"___", "model"},
                                     {longest + "-n", longest}}) {
    const std::filesystem::path into = scratch_.folder() / folder;
    ASSERT_TRUE(export_model({.checkpoints = folder_, .step = {}, .into = into}));
    EXPECT_EQ(model_of(import_model(into).value()).value().name, name) << folder;
  }
}

// A LLaMA has no learned positions, but Hugging Face limits its generation by the longest sequence of the training.
TEST_F(Export, OfALlamaSaysHowLongTheSequencesWereIfTheCheckpointKnowsIt) {
  const auto positions = [this]() -> nlohmann::json {
    if (!export_model({.checkpoints = folder_, .step = {}, .into = into_})) return "not exported";
    return nlohmann::json::parse(std::ifstream(into_ / "config.json")).value("max_position_embeddings", 0);
  };
  EXPECT_EQ(positions(), 48);
  const auto file = step_folder(folder_, 4) / "manifest.json";
  auto manifest = nlohmann::json::parse(std::ifstream(file));
  manifest.erase("sequenceLength");
  std::ofstream(file) << manifest;
  EXPECT_EQ(positions(), 0);
}

// Replaces the type of the first tensor by another one of the same length.
void set_first_type(const std::filesystem::path& file, const std::string& type) {
  std::ifstream stream(file, std::ios::binary);
  std::string content{std::istreambuf_iterator<char>(stream), {}};
  content.replace(content.find("\"F32\""), 5, fmt::format("\"{}\"", type));
  std::ofstream(file, std::ios::binary) << content;
}

TEST_F(Export, OfTensorsThatNoJobCouldReadIsNotImported) {
  ASSERT_TRUE(export_model({.checkpoints = folder_, .step = {}, .into = into_}));
  set_first_type(into_ / "model.safetensors", "I32");
  EXPECT_THAT(import_model(into_).error().message, HasSubstr("tensors of type I32; convert it to F32"));
  ASSERT_TRUE(export_model({.checkpoints = folder_, .step = {}, .into = into_}));
  set_first_type(into_ / "model.safetensors", "F16");
  EXPECT_THAT(import_model(into_).error().message, HasSubstr("does not match its shape"));
}

TEST(Import, ReadsTheAttentionOfGptNeoOrRefusesIt) {
  nlohmann::json config = {{"model_type", "gpt_neo"}, {"num_layers", 2},  {"hidden_size", 16},
                           {"num_heads", 2},          {"vocab_size", 64}, {"max_position_embeddings", 16}};
  const auto reads = [&config](const nlohmann::json& attention) {
    config["attention_types"] = attention;
    const auto spec = spec_from_hugging_face_config(config, "neo");
    return spec ? std::string("read") : spec.error().message;
  };
  EXPECT_EQ(reads({{{"global", "local"}, 1}}), "read");
  EXPECT_EQ(reads(nullptr), "read");
  EXPECT_THAT(reads({{{"local", "global"}, 1}}), HasSubstr("only alternating global and local attention"));
  EXPECT_THAT(reads({{{"a", 1}, {"b", 2}}}), HasSubstr("attention_types"));
  EXPECT_THAT(reads(7), HasSubstr("attention_types: 7"));
}

TEST(Import, RefusesMoreLayersThanATrainerBuildsAtOnce) {
  const int many = 1'000'000'000;
  for (const nlohmann::json& config : {nlohmann::json{{"model_type", "gpt_neo"},
                                                      {"num_layers", many},
                                                      {"hidden_size", 16},
                                                      {"num_heads", 2},
                                                      {"vocab_size", 64},
                                                      {"max_position_embeddings", 16},
                                                      {"attention_types", {{{"global", "local"}, many / 2}}}},
                                       nlohmann::json{{"model_type", "gpt2"},
                                                      {"n_layer", many},
                                                      {"n_embd", 16},
                                                      {"n_head", 2},
                                                      {"vocab_size", 64},
                                                      {"n_positions", 16}}}) {
    const auto begun = std::chrono::steady_clock::now();
    const auto spec = spec_from_hugging_face_config(config, "large");
    ASSERT_FALSE(spec);
    EXPECT_THAT(spec.error().message, HasSubstr("layers is 1000000000; it must be between 1 and 1024"));
    EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(5));
  }
}

// Hugging Face refuses a pattern of another length than the model's.
TEST(ExportedConfig, OfAGptNeoDescribesTheAttentionOfExactlyItsBlocks) {
  ModelSpec spec = testing::tiny_model(ModelFamily::kGptNeo);
  spec.local_window = 256;
  for (const auto& [blocks, types] : {std::pair(1, R"([[["global"],1]])"),
                                      {2, R"([[["global","local"],1]])"},
                                      {5, R"([[["global","local"],2],[["global"],1]])"}}) {
    spec.blocks = blocks;
    const auto config = hugging_face_config(spec);
    ASSERT_TRUE(config) << config.error().message;
    EXPECT_EQ(config->at("attention_types").dump(), types);
  }
}

TEST(Import, NamesWhatIsMissing) {
  const testing::Scratch scratch;
  EXPECT_THAT(import_model(scratch.folder()).error().message, HasSubstr("config.json: it is missing"));
}

}  // namespace
}  // namespace sailor::trainer
