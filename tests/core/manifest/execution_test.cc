// Reads execution models from files and from network models, and refuses absurd ones.
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/manifest/files.h"

namespace sailor {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

const std::string kHead = "apiVersion: sailor.dev/v1alpha1\nkind: ";

class ExecutionFile : public ::testing::Test {
 protected:
  ~ExecutionFile() override { fs::remove(file_); }
  // Returns the file, with a document of this kind whose spec has these lines.
  const fs::path& written(const std::string& kind, const std::string& spec) const {
    std::ofstream(file_) << kHead << kind << "\nmetadata: {name: own}\nspec:\n" << spec;
    return file_;
  }

 private:
  fs::path file_ = fs::temp_directory_path() /
                   (std::string("sailor-") + ::testing::UnitTest::GetInstance()->current_test_info()->name() + ".yaml");
};

TEST_F(ExecutionFile, ReplacesWhatItStatesOfTheDefaultModel) {
  const auto model = read_execution_model(written("ExecutionModel", R"(
  source: our cluster, 2026
  measured: true
  updateShare: "0.5"
  messages: {besidePasses: true, byGroup: false, latencyMicroseconds: 200, shareOfRate: "0.9"}
  sums: {besidePasses: true, algorithm: Fastest, shareOfRate: "0.8"}
)"))
                         .value();
  EXPECT_EQ(model, (ExecutionModel{.name = "own",
                                   .source = "our cluster, 2026",
                                   .is_measured = true,
                                   .messages_beside_passes = true,
                                   .messages_by_group = false,
                                   .message_latency = Seconds(200 * 1e-6),
                                   .message_share = 0.9,
                                   .sums_beside_passes = true,
                                   .sum_algorithm = SumAlgorithm::kFastest,
                                   .sum_share = 0.8,
                                   .update_share = 0.5}));
  const auto sums = read_execution_model(written("ExecutionModel", "  sums: {shareOfRate: \"0.7\"}\n")).value();
  EXPECT_EQ(sums.sum_share, 0.7);
  EXPECT_EQ(sums.message_latency, default_execution_model().message_latency);
  EXPECT_FALSE(sums.is_measured);
}

TEST_F(ExecutionFile, ReplacesWhatItStatesOfTheModelThatItIsBasedOn) {
  const auto model = read_execution_model(written("ExecutionModel", R"(
  source: our cluster, 2026
  base: deepspeed
  passes: {schedule: Flow, overheadMicroseconds: 100, launchExposed: "0.5"}
  messages: {receivesInOrder: false, sendBufferMebibytes: "2"}
  memory: {margin: "0.1", contextGibibytes: "1.5", bytesPerParameter: "0", scoreMatrices: "2", logits: Chunk}
)"))
                         .value();
  ExecutionModel expected = *find_execution_model("deepspeed");
  expected.name = "own";
  expected.source = "our cluster, 2026";
  expected.schedule = SchedulePolicy::kFlow;
  expected.pass_overhead = Seconds(100 * 1e-6);
  expected.launch_exposed = 0.5;
  expected.receives_in_order = false;
  expected.send_buffer = Bytes(2.0 * 1024 * 1024);
  expected.memory = {.margin = 0.1,
                     .context = gibibytes(1.5),
                     .bytes_per_parameter = 0,
                     .score_matrices = 2,
                     .logits = LogitsInMemory::kChunk};
  EXPECT_EQ(model, expected);
}

TEST_F(ExecutionFile, IsRefusedIfAFigureIsAbsurd) {
  const auto complaint = [&](const std::string& spec) {
    const std::vector<Error> errors = validate_file(written("ExecutionModel", "  source: test\n" + spec)).errors;
    return errors.empty() ? std::string() : errors.front().message;
  };
  EXPECT_THAT(complaint("  sums: {shareOfRate: \"0\"}\n"), HasSubstr("spec.sums.shareOfRate: 0 is not between"));
  EXPECT_THAT(complaint("  sums: {shareOfRate: \"-1\"}\n"), HasSubstr("spec.sums.shareOfRate"));
  EXPECT_THAT(complaint("  sums: {shareOfRate: \"1e9\"}\n"), HasSubstr("spec.sums.shareOfRate"));
  EXPECT_THAT(complaint("  sums: {shareOfRate: nan}\n"), HasSubstr("spec.sums.shareOfRate"));
  EXPECT_THAT(complaint("  sums: {algorithm: Tree}\n"), HasSubstr("spec.sums.algorithm: \"Tree\" is unknown"));
  EXPECT_THAT(complaint("  messages: {latencyMicroseconds: -5}\n"), HasSubstr("spec.messages.latencyMicroseconds"));
  EXPECT_THAT(complaint("  messages: {overlap: true}\n"), HasSubstr("spec.messages.overlap"));
  EXPECT_THAT(complaint("  updateShare: \"0.0000001\"\n"), HasSubstr("spec.updateShare"));
  EXPECT_THAT(complaint("  base: magic\n"), HasSubstr("spec.base: \"magic\" is unknown; use one of default, "));
  EXPECT_THAT(complaint("  passes: {schedule: Random}\n"), HasSubstr("spec.passes.schedule: \"Random\" is unknown"));
  EXPECT_THAT(complaint("  passes: {launchExposed: \"2\"}\n"),
              HasSubstr("spec.passes.launchExposed: 2 is not between"));
  EXPECT_THAT(complaint("  memory: {margin: \"1\"}\n"), HasSubstr("spec.memory.margin: 1 is not between"));
  EXPECT_THAT(complaint("  memory: {logits: Some}\n"), HasSubstr("spec.memory.logits: \"Some\" is unknown"));
  EXPECT_THAT(complaint("  memory: {contextGibibytes: \"-1\"}\n"), HasSubstr("spec.memory.contextGibibytes"));
}

TEST_F(ExecutionFile, OfAnotherKindIsRefused) {
  const auto model = read_execution_model(written("NetworkModel", "  tiers: {}\n"));
  ASSERT_FALSE(model);
  EXPECT_THAT(model.error().message, HasSubstr("is not one ExecutionModel; use such a file"));
}

TEST_F(ExecutionFile, AClusterMayStateHowItExecutesPlans) {
  const std::string pool =
      "apiVersion: sailor.dev/v1alpha1\nkind: GpuPool\nmetadata: {name: a}\nspec: {region: r-1, "
      "zone: r-1-a, accelerator: nvidia-l4, gpusPerNode: 1, nodes: 1, provisioning: Spot}\n---\n";
  const fs::path& file = written("NetworkModel", "  execution: {measured: true, sums: {shareOfRate: \"0.6\"}}\n");
  std::ifstream stream(file);
  const std::string network{std::istreambuf_iterator<char>(stream), {}};
  std::ofstream(file) << pool << network;
  const ClusterFile cluster = read_cluster(file).value();
  ASSERT_TRUE(cluster.network.execution);
  EXPECT_EQ(cluster.network.execution_model().sum_share, 0.6);
  EXPECT_TRUE(cluster.network.execution_model().is_measured);
  EXPECT_EQ(google_cloud_network().execution_model(), default_execution_model());
}

}  // namespace
}  // namespace sailor
