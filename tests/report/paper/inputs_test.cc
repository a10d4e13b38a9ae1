// Clusters and jobs of the cases are those of the artifact, and those that the recorded plans were made for.
#include "report/paper/inputs.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/manifest/files.h"

namespace sailor::paper {
namespace {

using ::testing::HasSubstr;

const std::filesystem::path kData = std::filesystem::path(SAILOR_SOURCE_DIR) / "../shared/data";

const Case& case_of(std::string_view id, std::size_t at) { return find_experiment(id).value()->cases.at(at); }

// Reads data that is not part of the repository, and skips where it is absent.
class PaperInputs : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(kData / "sailor-artifact")) GTEST_SKIP() << kData << " is not here";
    artifact_ = read_artifact(kData / "sailor-artifact").value();
  }

  Artifact artifact_;
};

TEST_F(PaperInputs, EveryCaseHasAClusterWithTheGpusOfItsTraceOrItsList) {
  for (const Experiment& experiment : evaluation().experiments) {
    for (const Case& one : experiment.cases) {
      const auto cluster = cluster_of(one, artifact_);
      ASSERT_TRUE(cluster) << one.name << ": " << cluster.error().message;
      int gpus = 0;
      const auto pools =
          one.trace.empty() ? one.gpus : read_artifact_trace(artifact_.folder / one.trace).value().at(one.line);
      for (const ArtifactPool& pool : pools) gpus += pool.gpus;
      EXPECT_EQ(cluster->free_gpus(), gpus) << experiment.id << ", " << one.name;
      EXPECT_GT(gpus, 0) << experiment.id << ", " << one.name;
    }
  }
}

TEST_F(PaperInputs, ClustersOfTracesHaveTheNumbersOfThePaper) {
  EXPECT_EQ(cluster_of(case_of("7", 1), artifact_)->free_gpus(), 80);
  EXPECT_EQ(cluster_of(case_of("8b", 2), artifact_)->free_gpus(), 128 + 384);
  EXPECT_EQ(cluster_of(case_of("12", 2), artifact_)->free_gpus(), 5 * 128);
  EXPECT_EQ(cluster_of(case_of("13", 0), artifact_)->free_gpus(), 4 * 128);
}

TEST_F(PaperInputs, RecordedPlansWereMadeForTheSameClustersAndJobs) {
  if (!std::filesystem::exists(kData / "peer-plans")) GTEST_SKIP() << "the recorded plans are not here";
  for (const Experiment& experiment : evaluation().experiments) {
    for (const Case& one : experiment.cases) {
      if (one.recorded.empty()) continue;
      const auto folder = kData / "peer-plans" / one.recorded;
      EXPECT_EQ(cluster_of(one, artifact_).value(), read_cluster(folder / "cluster.yaml").value().cluster) << one.name;
      const JobSpec ours = job_of(one, artifact_);
      const JobSpec theirs = read_job(folder / "job.yaml").value();
      EXPECT_EQ(ours.model, theirs.model) << one.name;
      EXPECT_EQ(ours.training.global_batch_size, theirs.training.global_batch_size) << one.name;
      EXPECT_EQ(ours.training.sequence_length, theirs.training.sequence_length) << one.name;
      EXPECT_EQ(ours.training.microbatch_sizes, theirs.training.microbatch_sizes) << one.name;
      EXPECT_EQ(ours.training.precision, theirs.training.precision) << one.name;
      EXPECT_EQ(ours.objective, theirs.objective) << one.name;
    }
  }
}

TEST_F(PaperInputs, SailorsRecordedPlanComesFirst) {
  if (!std::filesystem::exists(kData / "peer-plans")) GTEST_SKIP() << "the recorded plans are not here";
  const auto plans = read_recorded_plans(kData / "peer-plans" / "fig7-0").value();
  ASSERT_EQ(plans.size(), 6U);
  EXPECT_EQ(plans.front().planner, "sailor");
  EXPECT_EQ(plans.front().outcome.throughput, 0.1251);
}

TEST(PaperFolders, AFolderThatIsNotTheArtifactIsRefusedByName) {
  EXPECT_THAT(read_artifact("/nowhere").error().message, HasSubstr("/nowhere: is not a folder"));
  const auto empty = std::filesystem::path(::testing::TempDir()) / "not-the-artifact";
  std::filesystem::create_directories(empty);
  EXPECT_THAT(read_artifact(empty).error().message, HasSubstr("contains no layer_times.json"));
  EXPECT_THAT(read_recorded_plans("/nowhere").error().message, HasSubstr("is not a folder with recorded plans"));
  std::filesystem::remove_all(empty);
}

TEST(PaperFolders, ARecordedPlanWithoutItsTimeIsRefused) {
  const auto folder = std::filesystem::path(::testing::TempDir()) / "recorded-plans";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "sailor.json") << R"({"plan": {}, "peer": {}})";
  EXPECT_THAT(read_recorded_plans(folder).error().message,
              HasSubstr("sailor.json: peer.iterationsPerSecond: is missing"));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace sailor::paper
