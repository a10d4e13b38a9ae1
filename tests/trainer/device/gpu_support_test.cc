#include "trainer/device/gpu_support.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/trainer/support/assignments.h"

namespace sailor::trainer {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A program with CUDA 13.0 on a machine with two GPUs that it can use.
GpuSupport two_gpus() {
  return {.cuda_version = 13'000,
          .architectures = {"sm_90"},
          .driver = "580.65.06",
          .models = {"NVIDIA L4", "NVIDIA L4"},
          .usable_gpus = 2};
}

std::string refusal(const GpuSupport& support, int index = 0) {
  const auto usable = check_gpu(support, index);
  return usable ? "" : usable.error().message;
}

TEST(GpuSupport, AGpuOfThePodCanBeUsed) {
  EXPECT_EQ(refusal(two_gpus(), 0), "");
  EXPECT_EQ(refusal(two_gpus(), 1), "");
}

TEST(GpuSupport, AGpuThatThePodDoesNotHaveIsNamedWithTheDriver) {
  EXPECT_THAT(refusal(two_gpus(), 2), AllOf(HasSubstr("GPU 2"), HasSubstr("only 2 GPUs"), HasSubstr("580.65.06")));
}

TEST(GpuSupport, AMissingDriverIsNamedWithTheOneThatIsNeeded) {
  GpuSupport support = two_gpus();
  support.driver.reset();
  EXPECT_THAT(refusal(support), AllOf(HasSubstr("GPU 0"), HasSubstr("no NVIDIA driver"),
                                      HasSubstr("CUDA 13.0 needs driver 580 or newer")));
}

TEST(GpuSupport, AnOldDriverIsNamedWithTheOneThatIsNeeded) {
  GpuSupport support = two_gpus();
  support.driver = "535.104.05";
  EXPECT_THAT(refusal(support), AllOf(HasSubstr("535.104.05"), HasSubstr("needs driver 580 or newer")));
  support.cuda_version = 12'060;
  EXPECT_EQ(refusal(support), "") << "CUDA 12 works with it";
}

TEST(GpuSupport, ADriverWhoseLibrariesAreNotFoundIsNamedWithTheRemedy) {
  GpuSupport support = two_gpus();
  support.usable_gpus = 0;
  EXPECT_THAT(refusal(support), AllOf(HasSubstr("580.65.06"), HasSubstr("LD_LIBRARY_PATH")));
}

TEST(GpuSupport, AProgramForCpusHasNone) {
  GpuSupport support = two_gpus();
  support.cuda_version = 0;
  EXPECT_THAT(refusal(support), AllOf(HasSubstr("built for CPUs"), HasSubstr("--device cpu")));
}

TEST(GpuSupport, DriverAndModelsAreThoseThatTheKernelTells) {
  const testing::Scratch scratch;
  const auto write = [&](const std::string& file, const std::string& text) {
    std::filesystem::create_directories((scratch.folder() / file).parent_path());
    std::ofstream(scratch.folder() / file) << text;
  };
  EXPECT_EQ(nvidia_driver(scratch.folder()), std::nullopt);
  EXPECT_THAT(nvidia_models(scratch.folder()), ElementsAre());
  write("proc/driver/nvidia/version",
        "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build  (root)\nGCC version: "
        "12.3.0\n");
  write("proc/driver/nvidia/gpus/0000:00:04.0/information", "Model: \t\t NVIDIA L4\nIRQ:   \t\t 10\n");
  EXPECT_EQ(nvidia_driver(scratch.folder()), "580.65.06");
  EXPECT_THAT(nvidia_models(scratch.folder()), ElementsAre("NVIDIA L4"));
  write("proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19\n");
  EXPECT_EQ(nvidia_driver(scratch.folder()), "535.104.05");
}

TEST(GpuSupport, ArchitecturesAreReadFromTheFlagsOfTheBuild) {
  const std::string flags =
      "CUDA Runtime 13.0\n  - NVCC architecture flags: -gencode;arch=compute_75,code=sm_75;"
      "-gencode;arch=compute_120,code=sm_120\n";
  EXPECT_THAT(architectures_in(flags), ElementsAre("sm_75", "sm_120"));
}

TEST(GpuSupport, IsPrintedAsJson) {
  const auto json = to_json(two_gpus());
  EXPECT_EQ(json.at("cuda"), "13.0");
  EXPECT_EQ(json.at("oldestDriver"), 580);
  EXPECT_EQ(json.at("driver"), "580.65.06");
  EXPECT_EQ(json.at("usableGpus"), 2);
  EXPECT_EQ(json.at("collectives"), nlohmann::json({"gloo", "nccl"}));
  const auto cpu = to_json(GpuSupport{});
  EXPECT_FALSE(cpu.contains("cuda"));
  EXPECT_TRUE(cpu.at("driver").is_null());
  EXPECT_EQ(cpu.at("collectives"), nlohmann::json({"gloo"}));
}

}  // namespace
}  // namespace sailor::trainer
