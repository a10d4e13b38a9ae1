// What the profiler measures of layers: tensor-parallel sizes and precisions.
#include "trainer/profile/measure_layers.h"

#include <chrono>
#include <thread>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/trainer/support/assignments.h"

namespace sailor::trainer {
namespace {

using ::testing::HasSubstr;

MeasureRequest request(Precision precision) {
  return {.model = testing::tiny_model(),
          .sequence_length = 16,
          .accelerator = Accelerator("cpu"),
          .microbatch_sizes = {1, 2},
          .tensor_parallel_sizes = {1, 2},
          .precision = precision,
          .host = testing::own_address(),
          .time = std::chrono::milliseconds(1)};
}

void expect_all_measured(const ModelProfile& profile) {
  ASSERT_EQ(profile.times.size(), 4U);
  for (const auto& [point, times] : profile.times) {
    ASSERT_EQ(times.size(), 5U);
    for (const LayerTime& time : times) {
      EXPECT_GT(time.forward.value(), 0);
      EXPECT_GT(time.backward.value(), 0);
    }
  }
}

TEST(Measure, MeasuresEveryTensorParallelAndMicrobatchSizeInEachPrecision) {
  expect_all_measured(measure(request(Precision::kFp32)).profile);
  expect_all_measured(measure(request(Precision::kBf16)).profile);
}

TEST(Measure, AWorkerOfAGroupHoldsOnlyItsShardAndItsActivations) {
  const ModelProfile profile = measure(request(Precision::kFp32)).profile;
  const auto& alone = profile.memory.at(1);
  const auto& shared = profile.memory.at(2);
  for (const std::size_t layer : {0U, 1U, 4U}) {
    EXPECT_LT(shared[layer].parameters, 0.7 * alone[layer].parameters) << "layer " << layer;
    EXPECT_GE(shared[layer].parameters, 0.5 * alone[layer].parameters) << "layer " << layer;
  }
  EXPECT_LT(shared[1].activations_per_sample, alone[1].activations_per_sample);
  EXPECT_EQ(shared[1].output_per_sample, alone[1].output_per_sample);
  EXPECT_EQ(alone[1].output_per_sample, Bytes(16 * 32 * 4));
}

// Divided is what is kept outside of the linears: the embedding's output; of a block both norms' outputs and both sums
// with what came in; of the head its norm's output. And of each norm two numbers a token. Whose tokens are a share
// keeps their positions.
TEST(Measure, WithSequenceParallelismAWorkerKeepsActivationsOfItsTokensOnly) {
  MeasureRequest dealing = request(Precision::kFp32);
  dealing.microbatch_sizes = {2};
  const ModelProfile without = measure(dealing).profile;
  dealing.sequence_parallelism = SequenceParallelism::kAlways;
  const ModelProfile with = measure(dealing).profile;
  EXPECT_EQ(with.times.size(), 2U);
  EXPECT_EQ(with.sequence_parallelism, SequenceParallelism::kAlways);
  EXPECT_EQ(with.memory.at(1), without.memory.at(1)) << "a worker alone has nobody to deal with";
  const Bytes hidden(16 * 32 * 4);
  const Bytes statistics(16 * 2 * 4);
  const Bytes block = hidden * 4 + statistics * 2;
  const Bytes positions(16 * 8);
  const Bytes head = hidden * 2 + statistics;  // what the weights are multiplied with, and its gradient
  const std::vector<Bytes> partitioned = {hidden - positions, block, block, block, head};
  for (std::size_t layer = 0; layer < partitioned.size(); ++layer) {
    const LayerMemory& share = with.memory.at(2)[layer];
    const LayerMemory& whole = without.memory.at(2)[layer];
    EXPECT_EQ(whole.activations_per_sample - share.activations_per_sample, partitioned[layer] / 2) << layer;
    EXPECT_EQ(share.output_per_sample, whole.output_per_sample) << layer;
    EXPECT_EQ(share.parameters, whole.parameters) << layer;
  }
}

TEST(Measure, RefusesSequencesLongerThanThePositionsOfTheModel) {
  MeasureRequest longest = request(Precision::kFp32);
  longest.sequence_length = longest.model.max_positions;
  EXPECT_TRUE(check_sizes(longest));
  ++longest.sequence_length;
  EXPECT_THAT(check_sizes(longest).error().message, HasSubstr("longer than the"));
}

TEST(Measure, RefusesTensorParallelSizesThatCannotComputeTheModel) {
  MeasureRequest wrong = request(Precision::kFp32);
  EXPECT_TRUE(check_sizes(wrong));
  wrong.tensor_parallel_sizes = {1, 2 * wrong.model.kv_heads};
  EXPECT_THAT(check_sizes(wrong).error().message, HasSubstr("at most"));
  wrong.tensor_parallel_sizes = {1, 2};
  wrong.sequence_length = 15;
  EXPECT_TRUE(check_sizes(wrong));
  wrong.sequence_parallelism = SequenceParallelism::kAlways;
  EXPECT_THAT(check_sizes(wrong).error().message, HasSubstr("divide the 15 tokens"));
}

}  // namespace
}  // namespace sailor::trainer
