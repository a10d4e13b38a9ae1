// Reads small files in the format of the paper's artifact, and the artifact itself if it is present.
#include "core/manifest/artifact.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/manifest/files.h"

namespace sailor {
namespace {

using ::testing::HasSubstr;

const std::filesystem::path kArtifact = std::filesystem::path(SAILOR_SOURCE_DIR) / "../shared/data/sailor-artifact";

class Artifact : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(::testing::TempDir()) /
              ("sailor-artifact-" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void write(const std::string& name, const std::string& text) { std::ofstream(folder_ / name) << text; }

  // Writes one point of opt-350m with its 26 layers, except for those in `leave_out`.
  static Json times(const std::string& gpu, int leave_out = -1) {
    Json layers;
    for (int i = 0; i < 26; ++i) {
      if (i != leave_out) layers[std::to_string(i)] = {0.001 * i, 0.002 * i, 0.5};
    }
    return {{"OPT-350", {{gpu, {{"2", {{"4", layers}}}}}}}};
  }

  std::filesystem::path folder_;
};

TEST_F(Artifact, TimesBecomeAProfileWithSailorsNames) {
  write("layer_times.json", times("GH-96").dump());
  const auto book = read_profiles(folder_);
  ASSERT_TRUE(book) << book.error().message;
  const ModelProfile& profile = book->profiles().at(0);
  EXPECT_EQ(profile.model, "opt-350m");
  EXPECT_EQ(profile.accelerator, Accelerator("nvidia-gh200"));
  EXPECT_EQ(profile.times.at({2, 4}).at(3), (LayerTime{Seconds(0.003), Seconds(0.006), Seconds(0.5)}));
}

TEST_F(Artifact, AMissingLayerIsNamedWithFileAndField) {
  Json wrong = times("GH-96", 7);
  wrong["OPT-350"]["GH-96"]["2"]["4"]["26"] = {0.0, 0.0, 0.0};
  write("layer_times.json", wrong.dump());
  EXPECT_THAT(read_profiles(folder_).error().message, HasSubstr("layer_times.json: OPT-350.GH-96.2.4: has no layer 7"));
}

TEST_F(Artifact, AnErrorAboutAnUnknownGpuListsTheKnownOnes) {
  write("layer_times.json", times("TPU").dump());
  EXPECT_THAT(read_profiles(folder_).error().message,
              HasSubstr("\"TPU\" is not a GPU of the artifact; it has A100-40"));
}

TEST_F(Artifact, ATruncatedFileIsBadInput) {
  write("layer_times.json", R"({"OPT-350": {)");
  EXPECT_THAT(read_profiles(folder_).error().message, HasSubstr("is not valid JSON from byte"));
}

TEST_F(Artifact, OutsideTheMeasuredRangeACurveHasItsNearestMeasuredValue) {
  const BandwidthCurve curve{-0.5, 4, 10, gigabytes_per_second(17)};
  EXPECT_EQ(curve.at(Bytes(10)), gigabytes_per_second(10)) << "not extrapolated below a megabyte";
  EXPECT_EQ(curve.at(Bytes(2e6)), gigabytes_per_second(13.5));
  EXPECT_EQ(curve.at(Bytes(16e6)), gigabytes_per_second(17)) << "at most the measured peak";
  EXPECT_EQ(curve.at(Bytes(1e15)), gigabytes_per_second(17)) << "it does not fall beyond its maximum";
}

TEST_F(Artifact, AMeasuredPairOfTypesAppliesToOtherZonesOfTheSameTier) {
  write("layer_times.json", times("GH-96").dump());
  write("inter_node_bandwidths.json",
        R"({"us-central1-a": {"GH-96": {"4": {"us-central1-b": {"GH-96": {"4": [[0, 0, 5], 5e9]}}}}}})");
  const auto network = read_network_measurements(folder_);
  ASSERT_TRUE(network) << network.error().message;
  const auto end = [](const char* zone) { return MeasuredEndpoint{Zone(zone), Accelerator("nvidia-gh200"), 1}; };
  EXPECT_NE(network->between(end("us-east1-b"), end("us-east1-c")), nullptr);
  EXPECT_EQ(network->between(end("us-east1-b"), end("us-east1-b")), nullptr)
      << "this pair was not measured within a zone";
}

TEST_F(Artifact, TheWholeArtifactIsRead) {
  if (!std::filesystem::exists(kArtifact))
    GTEST_SKIP() << kArtifact << " does not exist; the tests above use small files instead";
  const auto book = read_profiles(kArtifact);
  ASSERT_TRUE(book) << book.error().message;
  EXPECT_EQ(book->profiles().size(), 16U);
  for (const ModelProfile& profile : book->profiles()) EXPECT_FALSE(profile.memory.empty()) << profile.model;
  const auto network = read_network_measurements(kArtifact);
  ASSERT_TRUE(network) << network.error().message;
  for (const MeasuredLink& link : network->links) EXPECT_GT(link.curve.at(Bytes(1)), BytesPerSecond(0));
  EXPECT_EQ(network->prices.size(), 25U);
}

}  // namespace
}  // namespace sailor
