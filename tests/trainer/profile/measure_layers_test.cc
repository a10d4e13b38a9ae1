// What the profiler measures: tensor-parallel sizes, precisions, links.
#include "trainer/profile/measure_layers.h"

#include <chrono>
#include <thread>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/trainer/support/assignments.h"
#include "tests/trainer/support/delegating_group.h"
#include "trainer/profile/local_group.h"
#include "trainer/profile/measure_link.h"

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
  const std::vector<Bytes> partitioned = {hidden - positions, block, block, block, hidden + statistics};
  for (std::size_t layer = 0; layer < partitioned.size(); ++layer) {
    const LayerMemory& share = with.memory.at(2)[layer];
    const LayerMemory& whole = without.memory.at(2)[layer];
    EXPECT_EQ(whole.activations_per_sample - share.activations_per_sample, partitioned[layer] / 2) << layer;
    EXPECT_EQ(share.output_per_sample, whole.output_per_sample) << layer;
    EXPECT_EQ(share.parameters, whole.parameters) << layer;
  }
}

TEST(Measure, RefusesTensorParallelSizesThatCannotComputeTheModel) {
  MeasureRequest wrong = request(Precision::kFp32);
  EXPECT_TRUE(check_tensor_parallel_sizes(wrong));
  wrong.tensor_parallel_sizes = {1, 2 * wrong.model.kv_heads};
  EXPECT_THAT(check_tensor_parallel_sizes(wrong).error().message, HasSubstr("at most"));
  wrong.tensor_parallel_sizes = {1, 2};
  wrong.sequence_length = 15;
  EXPECT_TRUE(check_tensor_parallel_sizes(wrong));
  wrong.sequence_parallelism = SequenceParallelism::kAlways;
  EXPECT_THAT(check_tensor_parallel_sizes(wrong).error().message, HasSubstr("divide the 15 tokens"));
}

TEST(Links, HaveTheSameResultAtBothEnds) {
  Link seen[2];
  run_local_group({.host = testing::own_address(), .size = 2},
                  [&](int rank, Group& group) { seen[rank] = measure_link(group, rank); });
  EXPECT_EQ(seen[0], seen[1]);
  EXPECT_GT(seen[0].bandwidth.value(), 1e6);
  EXPECT_GT(seen[0].latency.value(), 0);
  EXPECT_LT(seen[0].latency.value(), 1);
}

// A group on whose messages and sums another thread, or else the caller, works for some milliseconds.
class SlowGroup : public testing::DelegatingGroup {
 public:
  struct Caller {
    bool works_on_messages = false;
    bool works_on_sums = false;
  };
  SlowGroup(Group& group, Caller caller) : DelegatingGroup(group), caller_(caller) {}

  std::unique_ptr<Work> start_all_reduce(const at::Tensor& tensor) override {
    auto work = DelegatingGroup::start_all_reduce(tensor);
    return tensor.numel() < kLarge ? std::move(work) : slowed(std::move(work), caller_.works_on_sums);
  }
  std::unique_ptr<Work> send(const at::Tensor& tensor, int to, int tag) override {
    return slowed(DelegatingGroup::send(tensor, to, tag), caller_.works_on_messages);
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::int64_t kLarge = 1000;  // elements

  class SlowWork : public Work {
   public:
    SlowWork(std::unique_ptr<Work> work, Clock::time_point end) : work_(std::move(work)), end_(end) {}
    void wait() override {
      if (std::exchange(is_done_, true)) return;
      work_->wait();
      std::this_thread::sleep_until(end_);
    }

   private:
    std::unique_ptr<Work> work_;
    Clock::time_point end_;
    bool is_done_ = false;
  };
  static std::unique_ptr<Work> slowed(std::unique_ptr<Work> work, bool by_caller) {
    auto slow = std::make_unique<SlowWork>(std::move(work), Clock::now() + std::chrono::milliseconds(15));
    if (by_caller) slow->wait();
    return slow;
  }

  Caller caller_;
};

TEST(Links, SayWhatRunsBesideCompute) {
  for (const bool is_message : {false, true}) {
    const SlowGroup::Caller caller{.works_on_messages = is_message, .works_on_sums = !is_message};
    ExecutionModel seen[2];
    const auto work = [&](int rank, Group& group) {
      SlowGroup slow(group, caller);
      seen[rank] = measure_execution(slow, rank, {.bandwidth = BytesPerSecond(4e9), .latency = Seconds(0)});
    };
    run_local_group({.host = testing::own_address(), .size = 2}, work);
    EXPECT_EQ(seen[0], seen[1]);
    EXPECT_TRUE(seen[0].is_measured);
    EXPECT_EQ(seen[0].messages_beside_passes, !is_message);
    EXPECT_EQ(seen[0].sums_beside_passes, is_message);
    EXPECT_GT(seen[0].sum_share, 0);
    EXPECT_LT(seen[0].sum_share, 0.3) << "8 MiB at 4 GB/s take 2 ms, not 15";
  }
}

}  // namespace
}  // namespace sailor::trainer
