// Several GpuPools of a file that describe nodes of the same pool.
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/manifest/files.h"

namespace sailor {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

std::string part_of_a_pool(const std::string& name, const std::string& further) {
  return fmt::format(
      "---\napiVersion: sailor.dev/v1alpha1\nkind: GpuPool\nmetadata: {{name: {}}}\n"
      "spec: {{region: lab, zone: lab-a, accelerator: nvidia-l4, gpusPerNode: 4, nodes: 2, provisioning: "
      "OnDemand{}}}\n",
      name, further);
}

class PartsOfAPool : public ::testing::Test {
 protected:
  void TearDown() override { fs::remove(file_); }

  Result<ClusterFile> read(const std::string& further, const std::string& further_of_the_other) {
    std::ofstream(file_) << part_of_a_pool("one", further) << part_of_a_pool("two", further_of_the_other);
    return read_cluster(file_);
  }

  fs::path file_ =
      fs::path(::testing::TempDir()) /
      fmt::format("sailor-parts-of-a-pool-{}.yaml", ::testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(PartsOfAPool, AreAcceptedIfTheyAgree) {
  const auto file = read(", nodeSelector: {team: a}", ", nodeSelector: {team: a}");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->node_selectors.size(), 1U);
}

TEST_F(PartsOfAPool, AreRefusedIfTheirNodeSelectorsDiffer) {
  const auto complaint = HasSubstr("lab-a/nvidia-l4/ondemand is described twice with different values; keep one");
  for (const char* other : {", nodeSelector: {team: b}", ", nodeSelector: {team: a, rack: \"1\"}", ""}) {
    const auto file = read(", nodeSelector: {team: a}", other);
    ASSERT_FALSE(file) << other;
    EXPECT_THAT(file.error().message, complaint);
    EXPECT_THAT(file.error().message, HasSubstr(":10: spec")) << "the second of them";
    const auto errors = validate_file(file_).errors;
    ASSERT_EQ(errors.size(), 1U) << "kubectl would apply what no plan accepts";
    EXPECT_EQ(errors.front().message, file.error().message);
  }
}

TEST_F(PartsOfAPool, AreRefusedWithASecondNetworkModel) {
  std::ofstream(file_) << part_of_a_pool("one", "");
  for (const char* name : {"first", "second"}) {
    std::ofstream(file_, std::ios::app) << fmt::format(
        "---\napiVersion: sailor.dev/v1alpha1\nkind: NetworkModel\nmetadata: {{name: {}}}\nspec: {{}}\n", name);
  }
  const auto file = read_cluster(file_);
  ASSERT_FALSE(file);
  EXPECT_THAT(file.error().message, HasSubstr("several NetworkModels; keep one"));
  const auto errors = validate_file(file_).errors;
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_EQ(errors.front().message, file.error().message);
}

}  // namespace
}  // namespace sailor
