// The trainer on a GPU against itself on the CPU. A process computes on one device only, so a test takes its reference
// before it changes over.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/distributed/c10d/HashStore.hpp>

#include "tests/trainer/support/assignments.h"
#include "tests/trainer/support/training.h"
#include "trainer/checkpoint/shard_tensors.h"
#include "trainer/comm/nccl.h"
#include "trainer/device/device.h"

namespace sailor::trainer::testing {
namespace {

constexpr double kTolerance = 1e-4;  // relative: other kernels, other orders of summation

const char* why_not() {
  return has_cuda_support() ? "this machine has no GPU" : "built without CUDA, which `make gpu` adds";
}

std::string refusal_of_nccl() {
  try {
    make_nccl_backend({.store = c10::make_intrusive<c10d::HashStore>(), .index = 0, .size = 1})
        ->eagerConnectSingleDevice(compute_device());
    return "";
  } catch (const std::exception& error) {
    return error.what();
  }
}

// Also on a machine without a GPU: the libraries are found and loaded, and NCCL's half refuses to make a group.
TEST(Gpu, CollectivesAreThoseOfNccl) {
  if (!has_cuda_support()) GTEST_SKIP() << why_not();
  if (use_gpu(0)) {
    EXPECT_EQ(refusal_of_nccl(), "");
  } else {
    EXPECT_THAT(refusal_of_nccl(), ::testing::HasSubstr("no GPUs found"));
  }
}

TEST(Gpu, LearnsTheSameAsTheCpu) {
  const Scratch scratch;
  const Assignment job = tiny_job(scratch.text());
  const Plan plan = plan_of(job, {{0, 5, {8}}});
  const Trained reference = train(job, plan);
  if (!use_gpu(0)) GTEST_SKIP() << why_not();
  EXPECT_LE(difference(job, train(job, plan), reference).loss, kTolerance);
}

TEST(Gpu, InBf16StaysNearTheCpu) {
  const Scratch scratch;
  Assignment job = tiny_job(scratch.text());
  job.training.precision = Precision::kBf16;
  const Plan plan = plan_of(job, {{0, 5, {8}}});
  const Trained reference = train(job, plan);
  if (!use_gpu(0)) GTEST_SKIP() << why_not();
  EXPECT_LE(difference(job, train(job, plan), reference).loss, 0.02);
}

TEST(Gpu, StateReturnsFromACheckpointToItsDevice) {
  if (!use_gpu(0)) GTEST_SKIP() << why_not();
  const ModelSpec model = tiny_model();
  const StateLayout layer_state = layout_of(model, kTokenEmbedding);
  const LayerState state = initial_state(model, layer_state, 7);
  const LayerState again = state_of(layer_state, saved_shard_of(state, slices_of(layer_state), 0));
  EXPECT_EQ(again.weights.device(), compute_device());
  EXPECT_TRUE(again.weights.equal(state.weights));
}

}  // namespace
}  // namespace sailor::trainer::testing
