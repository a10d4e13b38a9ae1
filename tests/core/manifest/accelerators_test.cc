// Which accelerators the files of a cluster describe.
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/manifest/files.h"

namespace sailor {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const Accelerator kL40s("nvidia-l40s");
const std::string kFigures =
    R"(memoryGib: "44.9", teraflops: {fp32: "183", bf16: "362"}, memoryGigabytesPerSecond: "864")";
const std::string kOtherFigures =
    R"(memoryGib: "40", teraflops: {fp32: "183", bf16: "362"}, memoryGigabytesPerSecond: "864")";

std::string a_pool(const std::string& name, const std::string& zone, const std::string& accelerator,
                   const std::string& figures = "") {
  const std::string gpu = figures.empty() ? "" : fmt::format(", gpu: {{{}}}", figures);
  return fmt::format(
      "---\napiVersion: sailor.dev/v1alpha1\nkind: GpuPool\nmetadata: {{name: {}}}\n"
      "spec: {{region: lab, zone: {}, accelerator: {}, gpusPerNode: 4, nodes: 2, provisioning: OnDemand,\n"
      "  pricePerGpuHour: \"1\"{}}}\n",
      name, zone, accelerator, gpu);
}

class Accelerators : public ::testing::Test {
 protected:
  void TearDown() override { fs::remove(file_); }

  fs::path file(const std::string& text) {
    std::ofstream(file_) << text;
    return file_;
  }

  fs::path file_ =
      fs::path(::testing::TempDir()) /
      fmt::format("sailor-accelerators-{}.yaml", ::testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(Accelerators, APoolDescribesItsAcceleratorForAllPoolsOfTheCluster) {
  const auto read =
      read_cluster(file(a_pool("one", "lab-a", kL40s.str()) + a_pool("two", "lab-b", kL40s.str(), kFigures)));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->cluster.accelerators.find(kL40s)->memory, gibibytes(44.9));
}

TEST_F(Accelerators, WhatAPoolStatesReplacesTheCatalogue) {
  const auto read = read_cluster(file(a_pool("one", "lab-a", "nvidia-l4", kFigures)));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->cluster.accelerators.find(Accelerator("nvidia-l4"))->memory, gibibytes(44.9));
}

TEST_F(Accelerators, APoolOfAnUnknownAcceleratorIsReadAndGetsANote) {
  const fs::path pools = file(a_pool("one", "lab-a", "nvidia-l4") + a_pool("two", "lab-b", kL40s.str()));
  const auto read = read_cluster(pools);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->cluster.accelerators.find(kL40s), nullptr);
  const Validation validation = validate_file(pools);
  EXPECT_THAT(validation.errors, IsEmpty());
  EXPECT_THAT(validation.notes,
              ElementsAre(AllOf(HasSubstr(":11: spec.accelerator: nvidia-l40s is not in the catalogue"),
                                HasSubstr("spec.gpu"))));
}

TEST_F(Accelerators, ADescribedAcceleratorGetsNoNote) {
  const fs::path pools = file(a_pool("one", "lab-a", kL40s.str()) + a_pool("two", "lab-b", kL40s.str(), kFigures) +
                              a_pool("three", "lab-a", "nvidia-l4"));
  EXPECT_THAT(validate_file(pools).notes, IsEmpty());
}

TEST_F(Accelerators, PoolsThatDisagreeAreRefusedAndNamed) {
  const fs::path pools =
      file(a_pool("one", "lab-a", kL40s.str(), kFigures) + a_pool("two", "lab-b", kL40s.str(), kOtherFigures));
  const auto complaint = HasSubstr(":12: spec.gpu: GpuPools one and two state different figures of nvidia-l40s; keep");
  EXPECT_THAT(read_cluster(pools).error().message, complaint);
  const auto errors = validate_file(pools).errors;
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_THAT(errors[0].message, complaint);
}

TEST_F(Accelerators, PoolsThatAgreeAreAccepted) {
  const fs::path pools =
      file(a_pool("one", "lab-a", kL40s.str(), kFigures) + a_pool("two", "lab-b", kL40s.str(), kFigures));
  EXPECT_TRUE(read_cluster(pools));
  EXPECT_THAT(validate_file(pools).errors, IsEmpty());
}

}  // namespace
}  // namespace sailor
