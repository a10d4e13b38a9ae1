// Tests the bytes per parameter that the trainer's workers hold (docs/trainer-internals.md), and the rest of the
// memory.
#include "simulator/memory.h"

#include <gtest/gtest.h>

namespace sailor {
namespace {

constexpr double kParameters = 1000;

MemoryBreakdown memory(Precision precision, MemoryInputs inputs, const MemoryOverheads& overheads = {}) {
  TrainingSpec training;
  training.precision = precision;
  RangeNeeds needs;
  needs.parameters = kParameters;
  needs.activations = Bytes(700);
  needs.workspace = Bytes(50);
  return stage_memory(needs, training, overheads, inputs);
}

// Returns the bytes per parameter of what a worker keeps from step to step: weights, gradients and optimizer.
double held(const MemoryBreakdown& memory) {
  return (memory.weights + memory.gradients + memory.optimizer).value() / kParameters;
}

TEST(Memory, InFp32AWorkerHoldsWeightsGradientsAndTwoMoments) {
  EXPECT_DOUBLE_EQ(held(memory(Precision::kFp32, {})), 4 + 4 + 8);
}

TEST(Memory, InBf16ItHoldsAnFp32CopyOfTheWeightsAsWell) {
  EXPECT_DOUBLE_EQ(held(memory(Precision::kBf16, {})), 2 + 4 + 12);
}

// The shard of weights, moments and summed gradients is separate from the weights and gradients that the passes use.
TEST(Memory, AShardedOptimizerKeepsAShardOfTheStateBesideAllWeightsAndGradients) {
  for (const int shards : {2, 8}) {
    EXPECT_DOUBLE_EQ(held(memory(Precision::kFp32, {.optimizer_shards = shards})), 4 + 4 + 16.0 / shards);
    EXPECT_DOUBLE_EQ(held(memory(Precision::kBf16, {.optimizer_shards = shards})), 2 + 4 + 16.0 / shards);
  }
}

TEST(Memory, ShardingOverTwoReplicasSavesNothingInFp32) {
  EXPECT_EQ(held(memory(Precision::kFp32, {.optimizer_shards = 2})), held(memory(Precision::kFp32, {})));
}

TEST(Memory, APeerReplicaHoldsWeightsMomentsAndGradients) {
  const double without = held(memory(Precision::kBf16, {}));
  EXPECT_DOUBLE_EQ(held(memory(Precision::kBf16, {.peer_parameters = kParameters / 2})), without + 16.0 / 2);
}

TEST(Memory, GradientsTravelInFp32InAnyPrecision) {
  EXPECT_EQ(memory(Precision::kFp32, {}).communication, Bytes(4 * kParameters));
  EXPECT_EQ(memory(Precision::kBf16, {}).communication, Bytes(4 * kParameters));
  EXPECT_EQ(synced_bytes(Precision::kBf16, false).reduced, 4);
  EXPECT_EQ(synced_bytes(Precision::kBf16, false).gathered, 4) << "the sums themselves";
  EXPECT_EQ(synced_bytes(Precision::kBf16, true).gathered, 2) << "the updated weights";
}

TEST(Memory, ActivationsAreKeptForEveryMicrobatchInFlight) {
  EXPECT_EQ(memory(Precision::kFp32, {.in_flight = 3}).activations, Bytes(2100));
  EXPECT_EQ(memory(Precision::kFp32, {.in_flight = 0}).activations, Bytes(0));
}

TEST(Memory, ContextsAndWhatAPassNeedsForAWhileAreWorkspace) {
  EXPECT_EQ(memory(Precision::kFp32, {}).workspace, gibibytes(2) + Bytes(50));
  EXPECT_EQ(memory(Precision::kFp32, {.tensor_parallel = 2}).workspace, gibibytes(3) + Bytes(50));
}

TEST(Memory, BuffersOfMessagesAreCommunication) {
  const Bytes without = memory(Precision::kFp32, {}).communication;
  EXPECT_EQ(memory(Precision::kFp32, {.messages = Bytes(300)}).communication, without + Bytes(300));
}

TEST(Memory, PlansLeaveAPartOfAGpuFree) {
  const AcceleratorSpec a100 = *find_accelerator(Accelerator("nvidia-a100-80gb"));
  EXPECT_NEAR(usable_memory(a100, {}) / gibibytes(1), 76.8, 1e-9);
  EXPECT_NEAR(usable_memory(a100, {.margin = 0.1}) / gibibytes(1), 72, 1e-9);
}

TEST(Memory, TheExecutionModelStatesTheContextAndFurtherBytesOfAParameter) {
  const MemoryOverheads overheads{.context = gibibytes(5), .bytes_per_parameter = 3};
  const MemoryBreakdown usual = memory(Precision::kFp32, {.tensor_parallel = 2});
  const MemoryBreakdown more = memory(Precision::kFp32, {.tensor_parallel = 2}, overheads);
  EXPECT_EQ(more.workspace - usual.workspace, gibibytes(5 - 3));
  EXPECT_EQ(more.communication - usual.communication, Bytes(3 * kParameters));
  EXPECT_EQ(held(more), held(usual));
}

}  // namespace
}  // namespace sailor
