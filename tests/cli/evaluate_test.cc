// Compares the simulator with measured runs if their data is present, and reads invalid records.
#include "cli/evaluate.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/commands.h"

namespace sailor::cli {
namespace {

using ::testing::HasSubstr;

const std::filesystem::path kData = std::filesystem::path(SAILOR_SOURCE_DIR) / "../shared/data";

// A corrupt record makes the command fail, but the other records are still evaluated.
nlohmann::json evaluation_of(const std::filesystem::path& runs, bool has_corrupt_records = false) {
  std::ostringstream out;
  const auto done = run_evaluate({runs.string(), (kData / "sailor-artifact").string(), Format::kJson}, out);
  EXPECT_EQ(done.has_value(), !has_corrupt_records) << (done ? "" : done.error().message);
  return nlohmann::json::parse(out.str());
}

class Evaluate : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(kData / "measured")) {
      GTEST_SKIP() << kData << " does not exist; this test needs the measurements";
    }
  }
};

TEST_F(Evaluate, TimesAndMemoryOfRealRunsAreWithinAFewPercent) {
  const auto evaluation = evaluation_of(kData / "measured");
  EXPECT_EQ(evaluation.at("runs").size(), 17U);
  ASSERT_EQ(evaluation.at("groups").size(), 3U);
  for (const auto& [name, group] : evaluation.at("groups").items()) {
    SCOPED_TRACE(name);
    EXPECT_LE(group.at("timeMeanErrorPercent"), name.starts_with("deepspeed ") ? 3.0 : 4.0);
    EXPECT_LE(group.at("memoryMeanErrorPercent"), 3.0);
    EXPECT_LE(group.at("timeMaxErrorPercent"), 8.0);
    EXPECT_LE(group.at("memoryMaxErrorPercent"), 8.0);
  }
}

TEST_F(Evaluate, RunsAreEstimatedWithTheExecutionModelThatIsAskedFor) {
  const auto evaluate = [](const std::string& execution) {
    std::ostringstream out;
    const auto done = run_evaluate(
        {(kData / "measured").string(), (kData / "sailor-artifact").string(), Format::kJson, execution}, out);
    return done ? nlohmann::json::parse(out.str()).at("summary").at("timeMeanErrorPercent").get<double>() : -1;
  };
  EXPECT_GT(evaluate("trainer"), 2 * evaluate("")) << "DeepSpeed hides less than the trainer's design";
  EXPECT_EQ(evaluate("magic"), -1);
}

TEST_F(Evaluate, SuspectRecordsAreShownWithTheirReason) {
  int suspects = 0;
  const auto evaluation = evaluation_of(kData / "measured");
  for (const auto& run : evaluation.at("runs")) {
    ASSERT_TRUE(run.contains("time")) << run;
    for (const char* what : {"time", "memory"}) suspects += run.at(what).contains("suspect") ? 1 : 0;
  }
  EXPECT_EQ(suspects, 3);
}

TEST_F(Evaluate, ARecordThatIsNotAPlanHasItsReasonAndTheOthersAreEstimated) {
  const auto folder = std::filesystem::path(::testing::TempDir()) / "sailor-evaluate";
  std::filesystem::create_directories(folder);
  std::filesystem::copy_file(kData / "measured/mit_N4_N4_D2.json", folder / "mit_N4_N4_D2.json",
                             std::filesystem::copy_options::overwrite_existing);
  std::ofstream(folder / "mit_corrupt.json") << R"({"pipeline_list": [)";
  std::ofstream(folder / "mit_no_batch.json")
      << R"({"pipeline_list": [{"layers_per_stage": [], "tmp_per_stage": []}], "mbs": 0})";
  const auto evaluation = evaluation_of(folder, true);
  std::filesystem::remove_all(folder);
  ASSERT_EQ(evaluation.at("runs").size(), 3U);
  EXPECT_TRUE(evaluation.at("runs").at(0).contains("time"));
  EXPECT_THAT(evaluation.at("runs").at(1).at("reason"), HasSubstr("is not valid JSON"));
  EXPECT_THAT(evaluation.at("runs").at(2).at("reason"), HasSubstr("gbs: is missing"));
}

// Replaces every value of a record by an invalid one. Each record has a reason or an estimate, and the valid record is
// still evaluated.
TEST_F(Evaluate, AnAbsurdValueInARecordNeverAffectsOtherRecords) {
  const auto folder = std::filesystem::path(::testing::TempDir()) / "sailor-evaluate-absurd";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  const auto record = kData / "measured/mit_N4_N4_D2.json";
  std::filesystem::copy_file(record, folder / "mit_good.json");
  std::ifstream stream(record);
  const auto good = nlohmann::json::parse(stream);
  const std::vector<std::string> absurd = {"null", "-1", "1e300", "1000000000000", "\"x\"", "[]", "{}", "true", "0.5"};
  std::size_t files = 0;
  const auto leaves = good.flatten();
  for (const auto& [path, value] : leaves.items()) {
    nlohmann::json::json_pointer at(path);
    for (; !at.empty(); at.pop_back()) {
      auto broken = good;
      broken[at] = nlohmann::json::parse(absurd[files % absurd.size()]);
      std::ofstream(folder / ("mit_absurd_" + std::to_string(files++) + ".json")) << broken;
    }
  }
  const auto evaluation = evaluation_of(folder, true);
  std::filesystem::remove_all(folder);
  ASSERT_EQ(evaluation.at("runs").size(), files + 1);
  for (const auto& run : evaluation.at("runs")) {
    if (run.at("file") == "mit_good.json") {
      EXPECT_LT(std::abs(run.at("time").at("errorPercent").get<double>()), 8);
    }
    EXPECT_TRUE(run.contains("time") || run.contains("memory") || run.contains("reason")) << run;
    if (run.contains("time")) {
      EXPECT_GT(run.at("time").at("estimated"), 0) << run;
    }
  }
}

TEST(EvaluateInput, AMissingFolderIsBadInput) {
  std::ostringstream out;
  const auto done = run_evaluate({"no-such-folder", "none", Format::kTable}, out);
  ASSERT_FALSE(done);
  EXPECT_EQ(exit_status(done.error()), 2);
  EXPECT_THAT(done.error().message, HasSubstr("use a folder with measured runs"));
}

}  // namespace
}  // namespace sailor::cli
