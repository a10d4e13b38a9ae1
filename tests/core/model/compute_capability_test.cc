#include "core/model/compute_capability.h"

#include <gtest/gtest.h>

#include "core/model/accelerator.h"

namespace sailor {
namespace {

TEST(ComputeCapability, IsOrderedByMajorThenMinor) {
  EXPECT_LT(parse_compute_capability("7.5").value(), parse_compute_capability("8.0").value());
  EXPECT_LT(parse_compute_capability("9.0").value(), parse_compute_capability("10.0").value());
  EXPECT_EQ(to_string(parse_compute_capability("10.3").value()), "10.3");
}

TEST(ComputeCapability, AnythingElseIsRefused) {
  for (const char* text : {"", "7", "7.", ".5", "7.55", "-7.5", "sm_75", "7.5.1"}) {
    EXPECT_FALSE(parse_compute_capability(text).has_value()) << text;
  }
}

TEST(ComputeCapability, VoltaLacksKernels) {
  EXPECT_TRUE(lacks_kernels(Accelerator("nvidia-tesla-v100"), kLeastComputeCapability));
  EXPECT_FALSE(lacks_kernels(Accelerator("nvidia-tesla-v100"), {7, 0}));
  EXPECT_FALSE(lacks_kernels(Accelerator("nvidia-tesla-t4"), kLeastComputeCapability));
  EXPECT_FALSE(lacks_kernels(Accelerator("nvidia-of-tomorrow"), kLeastComputeCapability)) << "nothing is known of it";
}

}  // namespace
}  // namespace sailor
