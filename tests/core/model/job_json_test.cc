#include "core/model/job_json.h"

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

TEST(JobJson, TrainingIsReadBackAsWritten) {
  const TrainingSpec spec = training_from_json(training(), "spec.training").value();
  EXPECT_EQ(training_from_json(to_json(spec), "spec.training").value(), spec);
}

TEST(JobJson, EvaluationAndValidationAreReadBackAsWritten) {
  TrainingSpec spec = training_from_json(training(), "t").value();
  spec.initial_weights = "/models/gpt2";
  spec.on_non_finite = OnNonFinite::kSkip;
  spec.evaluation = EvaluationSpec{.every_steps = 7, .batches = 2};
  EXPECT_EQ(training_from_json(to_json(spec), "t").value(), spec);
  for (const ValidationSpec& validation : {ValidationSpec{"/val.txt", {}}, ValidationSpec{"", 0.25}}) {
    const DataSpec data{.format = DataFormat::kTokens, .path = "/train.bin", .validation = validation};
    EXPECT_EQ(data_from_json(to_json(data), "spec.data").value(), data);
  }
}

TEST(JobJson, CheckpointsAreReadBackAsWritten) {
  for (const CheckpointSpec& spec :
       {CheckpointSpec{.path = "/c"}, CheckpointSpec{.path = "/c", .every_steps = 7, .keep = 2, .every_seconds = {}},
        CheckpointSpec{.path = "/c", .every_steps = 7, .keep = 2, .every_seconds = 600}}) {
    EXPECT_EQ(checkpoint_from_json(to_json(spec), "c").value(), spec);
  }
  EXPECT_FALSE(checkpoint_from_json({{"path", "/c"}, {"everySeconds", 0}}, "c").has_value());
}

TEST(JobJson, TheJobToResumeFromIsReadBackAsWritten) {
  for (const ResumeFrom& source : {ResumeFrom{"first"}, ResumeFrom{"first", 20}}) {
    const CheckpointSpec spec{.path = "/c", .resume_from = source};
    EXPECT_EQ(checkpoint_from_json(to_json(spec), "c").value(), spec);
  }
  for (const Json& wrong : {Json::object(), Json{{"job", ""}}, Json{{"job", "first"}, {"step", 0}}}) {
    const auto read = checkpoint_from_json({{"path", "/c"}, {"resumeFrom", wrong}}, "spec.checkpoint");
    ASSERT_FALSE(read.has_value()) << wrong;
    EXPECT_EQ(read.error().message.find("spec.checkpoint.resumeFrom."), 0U) << read.error().message;
  }
}

TEST(JobJson, ValidationIsEitherFilesOrAFraction) {
  for (const Json& wrong : {Json::object(), Json{{"path", "/a"}, {"fraction", "0.1"}}, Json{{"fraction", "1"}}}) {
    const Json data = {{"format", "Bytes"}, {"path", "/a"}, {"validation", wrong}};
    EXPECT_FALSE(data_from_json(data, "spec.data").has_value()) << wrong;
  }
}

TEST(JobJson, FieldsThatAConfigurationOmitsAreThoseOfItsFamily) {
  const Json shape = {{"layers", 2}, {"hiddenSize", 8}, {"heads", 2}, {"vocabSize", 16}};
  Json neo = shape;
  neo["family"] = "gpt-neo";
  EXPECT_EQ(model_from_json({{"config", neo}}, "m").value().local_window, 256);
  neo["localWindow"] = 0;
  EXPECT_EQ(model_from_json({{"config", neo}}, "m").value().local_window, 0);
  Json opt = shape;
  opt["family"] = "opt";
  EXPECT_EQ(model_from_json({{"config", opt}}, "m").value().activation, Activation::kRelu);
  opt["ropeTheta"] = "10000";
  EXPECT_NE(model_from_json({{"config", opt}}, "m").error().message.find("m.config.ropeTheta"), std::string::npos);
}

TEST(JobJson, EveryModelOfTheCatalogueIsReadBackAsWritten) {
  for (const ModelSpec& model : model_catalog()) {
    EXPECT_EQ(model_from_json(to_json(model), "spec.model").value(), model) << model.name;
  }
}

TEST(JobJson, OmittedMicrobatchSizesArePowersOfTwoThatDivideTheBatch) {
  EXPECT_EQ(training_from_json(training(), "t").value().microbatch_sizes, (std::vector<int>{1, 2, 4}));
}

TEST(JobJson, MicrobatchSizesThatDoNotDivideTheBatchAreDroppedAndAnEmptyRestIsAnError) {
  Json json = training();
  json["microbatchSizes"] = {6, 5, 2, 2};
  EXPECT_EQ(training_from_json(json, "t").value().microbatch_sizes, (std::vector<int>{2, 6}));
  json["microbatchSizes"] = {5, 7};
  EXPECT_EQ(error_of(json),
            "spec.training.microbatchSizes: none of these sizes divides globalBatchSize 12; add a divisor");
}

TEST(JobJson, SequenceParallelismIsRefusedIfNoGroupCanPartitionTheTokens) {
  Json json = training();
  json["sequenceParallelism"] = "Always";
  json["sequenceLength"] = 1024;
  EXPECT_TRUE(training_from_json(json, "t").value().uses_sequence_parallelism());
  json["sequenceLength"] = 1023;
  EXPECT_EQ(
      error_of(json),
      "spec.training.sequenceParallelism: no group of GPUs can partition 1023 tokens evenly; make sequenceLength even, "
      "preferably a multiple of the GPUs of a node");
  json["sequenceParallelism"] = "Never";
  EXPECT_TRUE(training_from_json(json, "t").has_value());
}

TEST(JobJson, AMissingFieldIsNamedByItsPath) {
  Json json = training();
  json.erase("steps");
  EXPECT_EQ(error_of(json), "spec.training.steps: is missing");
}

TEST(JobJson, AWrongTypeIsNamedInTheError) {
  Json json = training();
  json["globalBatchSize"] = "many";
  EXPECT_EQ(error_of(json), "spec.training.globalBatchSize: \"many\" is of the wrong type (string)");
}

TEST(JobJson, ADecimalMayBeAStringOrANumberOnly) {
  Json json = training();
  json["optimizer"]["learningRate"] = 0.5;
  EXPECT_DOUBLE_EQ(training_from_json(json, "t").value().optimizer.learning_rate, 0.5);
  for (const Json& wrong : {Json("fast"), Json("-1"), Json(""), Json("nan"), Json("1e999"), Json(true), Json(-1)}) {
    json["optimizer"]["learningRate"] = wrong;
    EXPECT_NE(error_of(json).find("spec.training.optimizer.learningRate"), std::string::npos) << wrong;
  }
}

TEST(JobJson, AnOptimizerThatCannotLearnIsRefusedByTheNameOfItsField) {
  for (const Json& wrong : {Json{{"learningRate", "0"}}, Json{{"beta1", "1"}}, Json{{"beta2", 1.5}},
                            Json{{"epsilon", "0"}}, Json{{"clipNorm", "0"}}, Json{{"warmupSteps", -1}}}) {
    Json json = training();
    json["optimizer"] = wrong;
    EXPECT_EQ(error_of(json).find("spec.training.optimizer." + wrong.items().begin().key() + ": "), 0U) << wrong;
  }
}

TEST(JobJson, AnErrorAboutAnUnknownEnumeratorListsTheChoices) {
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
