#include "planner/model/job_json.h"

#include <gtest/gtest.h>

namespace sailor {
namespace {

Json training() {
  return {{"globalBatchSize", 12}, {"sequenceLength", 128}, {"steps", 5}, {"optimizer", {{"learningRate", "3e-4"}}}};
}

std::string error_of(const Json& json) {
  const auto read = training_from_json(json, "spec.training");
  return read ? "" : read.error().message;
}

TEST(JobJson, TrainingReadsBackAsWritten) {
  const TrainingSpec spec = training_from_json(training(), "spec.training").value();
  EXPECT_EQ(training_from_json(to_json(spec), "spec.training").value(), spec);
}

TEST(JobJson, EveryModelOfTheCatalogueReadsBackAsWritten) {
  for (const ModelSpec& model : model_catalog()) {
    EXPECT_EQ(model_from_json(to_json(model), "spec.model").value(), model) << model.name;
  }
}

TEST(JobJson, OmittedMicrobatchSizesArePowersOfTwoThatDivideTheBatch) {
  EXPECT_EQ(training_from_json(training(), "t").value().microbatch_sizes, (std::vector<int>{1, 2, 4}));
}

TEST(JobJson, AMicrobatchSizeThatDoesNotDivideTheBatchIsLeftOutAndNoneLeftIsAnError) {
  Json json = training();
  json["microbatchSizes"] = {6, 5, 2, 2};
  EXPECT_EQ(training_from_json(json, "t").value().microbatch_sizes, (std::vector<int>{2, 6}));
  json["microbatchSizes"] = {5, 7};
  EXPECT_EQ(error_of(json), "spec.training.microbatchSizes: none of them divides globalBatchSize 12; add a divisor");
}

TEST(JobJson, AMissingFieldIsNamedByItsPath) {
  Json json = training();
  json.erase("steps");
  EXPECT_EQ(error_of(json), "spec.training.steps: is missing");
}

TEST(JobJson, AWrongTypeIsShown) {
  Json json = training();
  json["globalBatchSize"] = "many";
  EXPECT_EQ(error_of(json), "spec.training.globalBatchSize: \"many\" is of the wrong type (string)");
}

TEST(JobJson, ADecimalMayBeAStringOrANumberAndNothingElse) {
  Json json = training();
  json["optimizer"]["learningRate"] = 0.5;
  EXPECT_DOUBLE_EQ(training_from_json(json, "t").value().optimizer.learning_rate, 0.5);
  for (const Json& wrong : {Json("fast"), Json("-1"), Json(""), Json("nan"), Json("1e999"), Json(true)}) {
    json["optimizer"]["learningRate"] = wrong;
    EXPECT_NE(error_of(json).find("spec.training.optimizer.learningRate"), std::string::npos) << wrong;
  }
}

TEST(JobJson, AnUnknownEnumeratorIsAnsweredWithTheChoices) {
  Json json = training();
  json["precision"] = "FP8";
  EXPECT_EQ(error_of(json), "spec.training.precision: \"FP8\" is unknown; use one of FP32, BF16");
}

TEST(JobJson, AModelNeedsANameOrAConfiguration) {
  const auto model = model_from_json(Json::object(), "spec.model");
  ASSERT_FALSE(model.has_value());
  EXPECT_NE(model.error().message.find("spec.model.name"), std::string::npos);
}

}  // namespace
}  // namespace sailor
