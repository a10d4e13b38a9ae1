// The loss and its gradients in chunks, against cross entropy and autograd over all logits at once.
#include "trainer/model/loss.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "core/model/loss_chunk.h"
#include "tests/trainer/support/thread_group.h"
#include "trainer/profile/tensor_memory.h"

namespace sailor::trainer::testing {
namespace {

constexpr std::int64_t kVocabulary = 50;
constexpr std::int64_t kWidth = 16;
constexpr double kFactor = 0.25;

struct Expected {
  at::Tensor loss, of_hidden, of_weight;
};

class ChunkedLoss : public ::testing::Test {
 protected:
  ChunkedLoss() { at::manual_seed(7); }

  [[nodiscard]] OutputWeights weights(const at::Tensor& weight) const {
    return {.weight = weight, .gradient = at::zeros({kVocabulary, kWidth})};
  }
  [[nodiscard]] Expected expected() const {
    const at::Tensor hidden = hidden_.detach().clone().requires_grad_();
    const at::Tensor weight = weight_.detach().clone().requires_grad_();
    const at::Tensor loss =
        at::cross_entropy_loss(at::linear(hidden, weight).flatten(0, 1), targets_.flatten(), {}, at::Reduction::Sum);
    torch::autograd::backward({loss}, {at::scalar_tensor(kFactor)});
    return {loss.detach(), hidden.grad(), weight.grad()};
  }
  static void expect_close(const at::Tensor& actual, const at::Tensor& expected, double tolerance = 1e-5) {
    EXPECT_TRUE(actual.allclose(expected, tolerance, tolerance)) << (actual - expected).abs().max().item<double>();
  }

  at::Tensor hidden_ = at::randn({2, 12, kWidth});
  at::Tensor weight_ = at::randn({kVocabulary, kWidth});
  at::Tensor targets_ = at::randint(kVocabulary, {2, 12}, at::kLong);
};

TEST_F(ChunkedLoss, IsTheCrossEntropyWithItsGradientsWhateverTheChunk) {
  const auto [loss, of_hidden, of_weight] = expected();
  for (const std::int64_t chunk : {1, 7, 12, 24, 100}) {
    SCOPED_TRACE(chunk);
    const OutputWeights weights = this->weights(weight_);
    const LossWithGradient result = loss_with_gradient({}, weights, hidden_, {targets_, kFactor}, chunk);
    expect_close(result.loss, loss.to(at::kDouble));
    expect_close(result.gradient, of_hidden);
    expect_close(weights.gradient, of_weight);
    expect_close(loss_of({}, weights, hidden_, targets_, chunk), loss.to(at::kDouble));
  }
}

TEST_F(ChunkedLoss, AddsToTheGradientOfEarlierMicrobatches) {
  const OutputWeights weights = this->weights(weight_);
  for (int i = 0; i < 3; ++i) (void)loss_with_gradient({}, weights, hidden_, {targets_, kFactor}, 5);
  expect_close(weights.gradient, expected().of_weight * 3, 1e-4);
}

TEST_F(ChunkedLoss, LeavesGradientsAloneWhereNobodyTrains) {
  const OutputWeights weights = this->weights(weight_);
  (void)loss_of({}, weights, hidden_, targets_, 5);
  EXPECT_TRUE(weights.gradient.eq(0).all().item<bool>());
}

// Only weights in BF16 have padding. It is not zero here, so that it would count if it were not masked.
TEST_F(ChunkedLoss, DoesNotCountThePaddingOfAVocabulary) {
  const auto result_with = [&](const at::Tensor& weight, const at::Tensor& gradient) {
    return loss_with_gradient({}, {.weight = weight.to(at::kBFloat16), .gradient = gradient}, hidden_.to(at::kBFloat16),
                              {targets_, kFactor}, 7);
  };
  const at::Tensor padded_gradient = at::zeros({kVocabulary, kWidth});
  const at::Tensor gradient = at::zeros({kVocabulary, kWidth});
  const auto padded = result_with(at::cat({weight_, at::full({14, kWidth}, 3.0)}), padded_gradient);
  const auto result = result_with(weight_, gradient);
  expect_close(padded.loss, result.loss);
  expect_close(padded.gradient, result.gradient, 1e-2);
  expect_close(padded_gradient, gradient, 1e-2);
}

TEST_F(ChunkedLoss, InBf16SumsTheGradientOfItsWeightsInFp32) {
  const OutputWeights weights = this->weights(weight_.to(at::kBFloat16));
  const LossWithGradient result = loss_with_gradient({}, weights, hidden_.to(at::kBFloat16), {targets_, kFactor}, 5);
  const auto [loss, of_hidden, of_weight] = expected();
  expect_close(result.loss, loss.to(at::kDouble), 1e-2);
  EXPECT_EQ(result.gradient.scalar_type(), at::kBFloat16);
  expect_close(result.gradient.to(at::kFloat), of_hidden, 3e-2);
  expect_close(weights.gradient, of_weight, 6e-2);
}

// The 50 entries are split 17, 17 and 16. With sequence parallelism each worker has a third of the tokens.
TEST_F(ChunkedLoss, OfASplitVocabularyIsThatOfAllWorkersTogether) {
  const auto [loss, of_hidden, of_weight] = expected();
  for (const bool is_sequence_parallel : {false, true}) {
    in_thread_group(3, [&, loss = loss, of_hidden = of_hidden, of_weight = of_weight](int rank, Group& group) {
      const TensorParallel workers(group, {rank, 3}, is_sequence_parallel);
      const auto part_of = [&](const at::Tensor& whole) {
        return is_sequence_parallel ? whole.flatten(0, 1).narrow(0, rank * 8, 8).view({2, 4, kWidth}) : whole;
      };
      const std::int64_t begin = rank * 17;
      const std::int64_t count = rank < 2 ? 17 : 16;
      const OutputWeights shard{
          .weight = weight_.narrow(0, begin, count), .gradient = at::zeros({count, kWidth}), .begin = begin};
      const LossWithGradient result =
          loss_with_gradient(workers, shard, part_of(hidden_).contiguous(), {targets_, kFactor}, 5);
      expect_close(result.loss, loss.to(at::kDouble));
      expect_close(result.gradient, part_of(of_hidden));
      expect_close(shard.gradient, of_weight.narrow(0, begin, count));
    });
  }
}

TEST_F(ChunkedLoss, HoldsTheLogitsOfOneChunk) {
  const OutputWeights weights = this->weights(weight_);
  const auto peak_with = [&](std::int64_t chunk) {
    const TensorMemory memory;
    (void)loss_with_gradient({}, weights, hidden_, {targets_, kFactor}, chunk);
    return memory.peak();
  };
  const std::int64_t logits_of_a_token = kVocabulary * 4;
  EXPECT_GE(peak_with(24) - peak_with(6), 2 * 18 * logits_of_a_token) << "logits, and their softmax";
}

TEST(LossChunks, HaveEqualSizesWithinTheLimit) {
  EXPECT_EQ(tokens_of_loss_chunk(1024, 50'257, 1), 1024) << "one chunk";
  EXPECT_EQ(tokens_of_loss_chunk(8192, 50'257, 1), 2048) << "2,670 would fit: four equal chunks";
  EXPECT_EQ(tokens_of_loss_chunk(8192, 50'257, 4), 8192);
  EXPECT_EQ(tokens_of_loss_chunk(1, std::int64_t{1} << 40, 1), 1) << "a token is not divided";
}

}  // namespace
}  // namespace sailor::trainer::testing
