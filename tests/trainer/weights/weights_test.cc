// Weights in and out, and the models' mathematics against Hugging Face's: reference.json is made by make_reference.py.
#include <cmath>
#include <fstream>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/trainer/support/assignments.h"
#include "trainer/device/device.h"
#include "trainer/model/stage_model.h"
#include "trainer/weights/hugging_face_config.h"
#include "trainer/weights/hugging_face_model.h"
#include "trainer/weights/initial_weights.h"

namespace sailor::trainer {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;

const Json& reference() {
  static const Json document = Json::parse(std::ifstream(SAILOR_SOURCE_DIR "/tests/trainer/weights/reference.json"));
  return document;
}

std::uint64_t name_hash(const std::string& name) {  // FNV-1a
  std::uint64_t value = 0xcbf29ce484222325ULL;
  for (const char byte : name) value = (value ^ static_cast<unsigned char>(byte)) * 0x100000001b3ULL;
  return value;
}

// Equals elements() in make_reference.py.
std::vector<float> elements(const TensorToWrite& tensor) {
  std::int64_t count = 1;
  for (const std::int64_t length : tensor.shape) count *= length;
  const bool is_norm = tensor.shape.size() == 1 && tensor.name.ends_with("weight");
  std::vector<float> values;
  for (std::int64_t i = 1; i <= count; ++i) {
    std::uint64_t z = name_hash(tensor.name) + static_cast<std::uint64_t>(i) * 0x9e3779b97f4a7c15ULL;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    z ^= z >> 31;
    const double unit = static_cast<double>(z >> 11) / static_cast<double>(1ULL << 53);
    const double value = reference()["amplitude"].get<double>() * (2 * unit - 1);
    values.push_back(static_cast<float>(is_norm ? value + 1 : value));
  }
  return values;
}

class Reference : public ::testing::TestWithParam<std::size_t> {
 protected:
  void SetUp() override {
    set_cpu_threads(1);
    for (const auto& [name, shape] : model_["tensors"].items()) tensors_.push_back({name, shape});
    const auto values = [&](std::size_t index) { return Result<std::vector<float>>(elements(tensors_[index])); };
    ASSERT_TRUE(write_safetensors(file(), tensors_, values));
    spec_ = spec_from_hugging_face_config(model_["config"], model_["name"]).value();
  }

  [[nodiscard]] std::filesystem::path file() const { return scratch_.folder() / "model.safetensors"; }

  [[nodiscard]] LayerStates states() const {
    const auto files = HuggingFaceModel::open(file(), spec_).value();
    LayerStates states;
    for (const int id : all_layer_states(spec_))
      states[id] = load_pretrained_state(*files, spec_, layout_of(spec_, id)).value();
    return states;
  }

  // The sum of the losses where the last target is replaced.
  static double loss(StageModel& model, std::int64_t last_target) {
    auto tokens = reference()["tokens"].get<std::vector<std::int64_t>>();
    tokens.back() = last_target;
    const at::Tensor all = at::tensor(tokens, at::kLong).unsqueeze(0);
    const std::int64_t length = std::ssize(tokens) - 1;
    const double loss = model.forward(0, all.narrow(1, 0, length), {all.narrow(1, 1, length)}).item<double>();
    model.clear_gradients();
    return loss;
  }

  const Json& model_ = reference()["models"][GetParam()];
  testing::Scratch scratch_;
  std::vector<TensorToWrite> tensors_;
  ModelSpec spec_;
};

TEST_P(Reference, HasTheSameLossAndLogProbabilities) {
  const LayerStates held = states();
  StageModel model({.spec = spec_, .first_layer = 0, .last_layer = spec_.layer_count()}, held);
  const auto last_target = reference()["tokens"].back().get<std::int64_t>();
  const double expected = model_["loss"].get<double>();
  EXPECT_NEAR(loss(model, last_target), expected, 2e-5 * expected);
  const auto log_probabilities = model_["last_log_probabilities"].get<std::vector<double>>();
  const double others = expected + log_probabilities[static_cast<std::size_t>(last_target)];
  for (std::size_t token = 0; token < log_probabilities.size(); ++token) {
    EXPECT_NEAR(loss(model, static_cast<std::int64_t>(token)) - others, -log_probabilities[token], 2e-4) << token;
  }
}

TEST_P(Reference, IsExportedAsItWasImported) {
  const auto files = HuggingFaceModel::open(file(), spec_).value();
  const std::filesystem::path folder = scratch_.folder() / "exported";
  ASSERT_TRUE(write_hugging_face_model(folder, spec_, [&](int layer_state) { return files->weights(layer_state); }));
  const auto exported = SafetensorsFile::open(folder / "model.safetensors").value();
  ASSERT_EQ(exported->tensors().size(), tensors_.size());
  for (const TensorToWrite& tensor : tensors_) {
    ASSERT_TRUE(exported->tensors().contains(tensor.name)) << tensor.name;
    const auto& written = exported->tensors().at(tensor.name);
    EXPECT_EQ(written.shape, tensor.shape) << tensor.name;
    EXPECT_EQ(exported->values(written).value(), elements(tensor)) << tensor.name;
  }
  ModelSpec again = read_hugging_face_config(folder).value();
  again.name = spec_.name;
  EXPECT_EQ(again, spec_);
}

TEST(InitialWeights, OfAnotherModelAreRefusedWithTheTensorThatDiffers) {
  const testing::Scratch scratch;
  const std::vector<TensorToWrite> tensors = {{"transformer.wte.weight", {4, 8}}};
  const auto values = [&](std::size_t index) { return Result<std::vector<float>>(elements(tensors[index])); };
  ASSERT_TRUE(write_safetensors(scratch.folder() / "model.safetensors", tensors, values));
  ModelSpec spec = find_model("tiny-gpt2").value();
  EXPECT_THAT(HuggingFaceModel::open(scratch.folder(), spec).error().message,
              HasSubstr("transformer.wte.weight has shape [4, 8], but in model tiny-gpt2 it has shape [256, 128]"));
  spec.vocab_size = 4;
  spec.hidden_size = 8;
  EXPECT_THAT(HuggingFaceModel::open(scratch.folder(), spec).error().message,
              HasSubstr("tensor transformer.wpe.weight is missing"));
  EXPECT_THAT(HuggingFaceModel::open(scratch.folder() / "nothing", spec).error().message,
              HasSubstr("neither a safetensors file"));
}

INSTANTIATE_TEST_SUITE_P(OfHuggingFace, Reference, ::testing::Range<std::size_t>(0, 5), [](const auto& parameter) {
  auto name = reference()["models"][parameter.param]["name"].template get<std::string>();
  std::erase(name, '-');
  return name;
});

}  // namespace
}  // namespace sailor::trainer
