// Reads clusters and jobs in the format of the paper's artifact.
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/manifest/artifact.h"

namespace sailor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const Zone kZone("us-central1-a");
const Accelerator kA100("nvidia-tesla-a100");
const Accelerator kV100("nvidia-tesla-v100");

class ArtifactCluster : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(::testing::TempDir()) /
              ("artifact-cluster-" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }
  std::string error_of_trace(const std::string& text) {
    return read_artifact_trace(write("trace.csv", text)).error().message;
  }

  std::filesystem::path folder_;
};

TEST_F(ArtifactCluster, EveryLineOfATraceIsACluster) {
  const auto lines = read_artifact_trace(write("trace.csv",
                                               ",Timestamp,A100-40_us-central1-a,V100-16_us-central1-a\n"
                                               "0,1.5,32,96\n"
                                               "1,2.5,80,0"))
                         .value();
  EXPECT_THAT(lines, ElementsAre(ElementsAre(ArtifactPool{kZone, kA100, 32}, ArtifactPool{kZone, kV100, 96}),
                                 ElementsAre(ArtifactPool{kZone, kA100, 80}, ArtifactPool{kZone, kV100, 0})));
}

TEST_F(ArtifactCluster, AWrongTraceIsRefusedWithFileAndLine) {
  EXPECT_THAT(error_of_trace(",Timestamp,TPU_us-central1-a\n"), HasSubstr("trace.csv: line 1: \"TPU\" is not a GPU"));
  EXPECT_THAT(error_of_trace(",Timestamp,A100-40\n"), HasSubstr("\"A100-40\" is not GPU_ZONE"));
  EXPECT_THAT(error_of_trace(",Timestamp\n"), HasSubstr("has no column of a GPU type"));
  const std::string header = ",Timestamp,A100-40_us-central1-a\n";
  EXPECT_THAT(error_of_trace(header + "0,1,32\n1,2\n"), HasSubstr("line 3: has 2 cells where the first line has 3"));
  EXPECT_THAT(error_of_trace(header + "0,1,-4\n"), HasSubstr("line 2: \"-4\" is not a number of GPUs"));
  EXPECT_THAT(read_artifact_trace(folder_ / "none.csv").error().message, HasSubstr("cannot be read"));
}

TEST_F(ArtifactCluster, TheSizesOfNodesAreRead) {
  write("basic_cluster_config.json", R"({"A100-40": {"gpus_per_node": 4}, "zone": "us-central1-a"})");
  EXPECT_EQ(read_artifact_nodes(folder_).value(), (std::map<Accelerator, int>{{kA100, 4}}));
  write("basic_cluster_config.json", R"({"A100-40": {"gpus_per_node": 0}})");
  EXPECT_THAT(read_artifact_nodes(folder_).error().message, HasSubstr("A100-40.gpus_per_node"));
}

TEST_F(ArtifactCluster, AJobHasItsModelUnderSailorsName) {
  const auto job = read_artifact_job(
      write("job.json", R"({"model": "OPT-350", "global_batch_size": 1024, "sequence_length": 2048})"));
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->model, "opt-350m");
  EXPECT_EQ(job->global_batch_size, 1024);
  EXPECT_EQ(job->sequence_length, 2048);
  EXPECT_THAT(read_artifact_job(write("job.json", R"({"model": "OPT-350"})")).error().message,
              HasSubstr("global_batch_size: is missing"));
}

}  // namespace
}  // namespace sailor
