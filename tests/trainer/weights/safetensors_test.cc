#include "trainer/weights/safetensors.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/trainer/support/assignments.h"
#include "trainer/weights/hugging_face_config.h"

namespace sailor::trainer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Safetensors : public ::testing::Test {
 protected:
  void write(const std::string& header, const std::string& data) {
    std::ofstream stream(file_, std::ios::binary);
    const std::uint64_t length = header.size();
    stream.write(reinterpret_cast<const char*>(&length), sizeof length);
    stream << header << data;
  }
  std::string error() {
    const auto file = SafetensorsFile::open(file_);
    return file ? "" : file.error().message;
  }
  std::vector<float> values(const std::string& type, const std::string& data) {
    write(R"({"a": {"dtype": ")" + type + R"(", "shape": [2], "data_offsets": [0, )" + std::to_string(data.size()) +
              "]}}",
          data);
    const auto file = SafetensorsFile::open(file_).value();
    return file->values(file->tensors().at("a")).value_or(std::vector<float>{});
  }

  testing::Scratch scratch_;
  std::filesystem::path file_ = scratch_.folder() / "model.safetensors";
};

TEST_F(Safetensors, ConvertsF16AndBf16ToFp32) {
  EXPECT_THAT(values("F16", std::string("\x00\x3c\x00\xc1", 4)), ElementsAre(1.0F, -2.5F));
  EXPECT_THAT(values("F16", std::string("\x01\x00\xff\x7b", 4)), ElementsAre(5.9604645e-8F, 65504.0F));
  EXPECT_THAT(values("BF16", std::string("\x80\x3f\x20\xc0", 4)), ElementsAre(1.0F, -2.5F));
  EXPECT_THAT(values("F32", std::string("\0\0\x80\x3f\0\0\x20\xc0", 8)), ElementsAre(1.0F, -2.5F));
}

TEST_F(Safetensors, RefusesTypesOtherThanFloats) { EXPECT_TRUE(values("I64", std::string(16, '\0')).empty()); }

TEST_F(Safetensors, SaysWhatIsWrongWithTheFile) {
  EXPECT_THAT(error(), HasSubstr("No such file"));
  std::ofstream(file_) << "abc";
  EXPECT_THAT(error(), HasSubstr("too short"));
  std::ofstream(file_) << "something else entirely";
  EXPECT_THAT(error(), HasSubstr("header ends beyond the file"));
  write("[]", "");
  EXPECT_THAT(error(), HasSubstr("not a JSON object"));
  write(R"({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}})", "1234");
  EXPECT_THAT(error(), HasSubstr("tensor a ends beyond the file"));
}

TEST_F(Safetensors, RefusesShapesAndOffsetsThatNoFileCanHave) {
  const auto error_of = [this](const std::string& shape, const std::string& offsets) {
    write(R"({"a": {"dtype": "F32", "shape": )" + shape + R"(, "data_offsets": )" + offsets + "}}", "12345678");
    return error();
  };
  EXPECT_EQ(error_of("[2]", "[0, 8]"), "");
  const auto is_invalid = HasSubstr("the header entry of tensor a is invalid");
  EXPECT_THAT(error_of(R"(["2"])", "[0, 8]"), is_invalid);
  EXPECT_THAT(error_of("[2.5]", "[0, 8]"), is_invalid);
  EXPECT_THAT(error_of("[-2]", "[0, 8]"), is_invalid);
  EXPECT_THAT(error_of("[2]", R"(["0", "8"])"), is_invalid);
  EXPECT_THAT(error_of("[2]", "[-8, 0]"), is_invalid);
  EXPECT_THAT(error_of("[2]", "[18446744073709551600, 18446744073709551608]"), HasSubstr("ends beyond the file"));
}

TEST_F(Safetensors, LeavesNoFileIfTheValuesFail) {
  const auto values = [](std::size_t) -> Result<std::vector<float>> { return fail(ErrorCode::kUnavailable, "gone"); };
  EXPECT_FALSE(write_safetensors(file_, {{"a", {1}}}, values));
  EXPECT_FALSE(std::filesystem::exists(file_));
  EXPECT_FALSE(std::filesystem::exists(file_.string() + ".part"));
}

TEST(HuggingFaceConfig, RefusesWhatTheLayersDoNotCompute) {
  nlohmann::json config = {{"model_type", "llama"},          {"vocab_size", 32},       {"hidden_size", 16},
                           {"num_hidden_layers", 2},         {"intermediate_size", 8}, {"num_attention_heads", 2},
                           {"rope_scaling", {{"factor", 8}}}};
  EXPECT_THAT(spec_from_hugging_face_config(config, "m").error().message,
              HasSubstr("config.rope_scaling: this trainer does not support scaled rotary"));
  config["rope_scaling"] = {{"rope_type", "llama3"}, {"factor", 8}};
  EXPECT_FALSE(spec_from_hugging_face_config(config, "m"));
  for (const nlohmann::json& unscaled : nlohmann::json{nullptr, {{"rope_type", "default"}}, {{"type", "default"}}}) {
    config["rope_scaling"] = unscaled;
    EXPECT_TRUE(spec_from_hugging_face_config(config, "m")) << unscaled;
  }
  config.erase("rope_scaling");
  EXPECT_TRUE(spec_from_hugging_face_config(config, "m"));
  config["attention_bias"] = true;
  EXPECT_THAT(spec_from_hugging_face_config(config, "m").error().message, HasSubstr("config.attention_bias"));
  EXPECT_THAT(spec_from_hugging_face_config({{"model_type", "bert"}}, "m").error().message,
              HasSubstr("\"bert\" is unknown"));
}

TEST(HuggingFaceConfig, RefusesToWriteWhatTheFamilyCannotExpress) {
  ModelSpec spec = find_model("tiny-gpt2").value();
  EXPECT_TRUE(hugging_face_config(spec));
  spec.local_window = 8;
  EXPECT_THAT(hugging_face_config(spec).error().message, HasSubstr("cannot express it"));
}

}  // namespace
}  // namespace sailor::trainer
