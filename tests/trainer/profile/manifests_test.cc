#include "trainer/profile/manifests.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/manifest/files.h"
#include "tests/trainer/support/assignments.h"

namespace sailor::trainer {
namespace {

LayerTime a_time(double base) { return {Seconds(base), Seconds(2 * base), Seconds(base / 8)}; }

TEST(ProfileManifest, IsReadByThePlannerAsItWasMeasured) {
  ModelProfile profile{.model = "tiny",
                       .accelerator = Accelerator("nvidia-l4"),
                       .precision = Precision::kFp32,
                       .sequence_length = 128,
                       .sequence_parallelism = SequenceParallelism::kAlways,
                       .times = {},
                       .memory = {},
                       .source = "a \"test\": of this"};
  const LayerTime block = a_time(1.25e-7);
  profile.times[{1, 1}] = {a_time(0.5), block, block, block, a_time(0.25)};
  profile.times[{4, 1}] = {a_time(2), a_time(1), block, block, a_time(1)};
  const LayerMemory block_memory{1000, Bytes(4096), Bytes(512)};
  profile.memory[1] = {
      {300, Bytes(512), Bytes(512)}, block_memory, block_memory, block_memory, {40, Bytes(99), Bytes(0)}};

  const testing::Scratch scratch;
  const auto file = scratch.folder() / "profile.yaml";
  std::ofstream(file) << profile_manifest(profile, {"tiny-l4", "a processor", "2026-01-02T03:04:05Z"});
  EXPECT_TRUE(validate_file(file).errors.empty());
  const auto book = read_profiles(scratch.folder());
  ASSERT_TRUE(book) << book.error().message;
  ASSERT_EQ(book->profiles().size(), 1U);
  EXPECT_EQ(book->profiles().front(), profile);
}

TEST(NetworkManifest, IsReadByThePlanner) {
  const Link link{.bandwidth = BytesPerSecond(0.4583e9), .latency = Seconds(416.6e-6)};
  const testing::Scratch scratch;
  ExecutionModel execution = default_execution_model();
  execution.name = "cluster";
  execution.source = "a \"test\": of this";
  execution.is_measured = true;
  execution.messages_beside_passes = true;
  execution.message_latency = Seconds(0);
  execution.sum_share = 0.625;
  for (const bool has_zones : {false, true}) {
    const auto file = scratch.folder() / "network.yaml";
    std::ofstream(file) << network_manifest(link, has_zones ? "us-central1-a" : "", has_zones ? "us-west1-b" : "",
                                            execution);
    EXPECT_THAT(validate_file(file).errors, ::testing::IsEmpty());
    std::ofstream(file, std::ios::app) << "---\napiVersion: sailor.dev/v1alpha1\nkind: GpuPool\nmetadata: {name: a}\n"
                                          "spec: {region: r-1, zone: r-1-a, accelerator: nvidia-l4, gpusPerNode: 1, "
                                          "nodes: 1, provisioning: Spot}\n";
    EXPECT_EQ(read_cluster(file).value().network.execution, execution);
  }
}

}  // namespace
}  // namespace sailor::trainer
