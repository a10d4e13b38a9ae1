#include "trainer/optim/adamw.h"

#include <cmath>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "tests/trainer/support/assignments.h"

namespace sailor::trainer {
namespace {

TrainingSpec training() {
  TrainingSpec training;
  training.steps = 100;
  training.optimizer = {.learning_rate = 0.01, .weight_decay = 0.1, .beta1 = 0.9, .beta2 = 0.95, .epsilon = 1e-8};
  return training;
}

LayerState head() {  // a norm and a matrix
  const ModelSpec spec = testing::tiny_model(ModelFamily::kLlama, false);
  return initial_state(spec, layout_of(spec, layer_state_count(spec) - 1), 1);
}

TEST(AdamW, FollowsLoshchilovAndHutterForThreeSteps) {
  LayerState state = head();
  const at::Tensor gradient = at::linspace(-1, 1, state.layout.size);
  const std::int64_t last = state.layout.size - 1;  // of the matrix, whose gradient is 1
  double weight = state.weights[last].item<double>(), momentum = 0, variance = 0;
  for (int step = 1; step <= 3; ++step) {
    apply_adamw(state, gradient.clone(), training(), step, 0.5);
    momentum = 0.9 * momentum + 0.1 * 0.5;
    variance = 0.95 * variance + 0.05 * 0.25;
    weight -= 0.01 * 0.1 * weight;
    weight -= 0.01 * (momentum / (1 - std::pow(0.9, step))) / (std::sqrt(variance / (1 - std::pow(0.95, step))) + 1e-8);
    EXPECT_NEAR(state.weights[last].item<double>(), weight, 1e-6);
  }
}

TEST(AdamW, DecaysMatricesButNotNorms) {
  LayerState state = head();
  const at::Tensor before = state.weights.clone();
  apply_adamw(state, at::zeros({state.layout.size}), training(), 1, 1);
  for (const TensorLayout& tensor : state.layout.tensors) {
    const double factor = tensor.is_decayed ? 1 - 0.01 * 0.1 : 1;
    EXPECT_TRUE(at::allclose(view_of(state.weights, tensor), view_of(before, tensor) * factor)) << tensor.name;
  }
}

TEST(AdamW, UpdatesAShardLikeTheWholeState) {
  LayerState whole = head();
  const auto slices = shard_slices(whole.layout, {1, 3});
  LayerState shard = initial_state(testing::tiny_model(ModelFamily::kLlama, false), shard_of(whole.layout, slices), 1);
  const at::Tensor gradient = at::linspace(-1, 1, whole.layout.size);
  const auto spans = spans_of(whole.layout, slices);
  apply_adamw(shard, packed(gradient, spans), training(), 1, 1);
  apply_adamw(whole, gradient, training(), 1, 1);
  EXPECT_TRUE(at::allclose(shard.weights, packed(whole.weights, spans)));
}

TEST(ClipScale, ReducesTheNormToTheLimitAndNeverRaisesIt) {
  OptimizerSpec optimizer;
  EXPECT_EQ(clip_scale(optimizer, 100), 1);
  optimizer.clip_norm = 2;
  EXPECT_EQ(clip_scale(optimizer, 100), 0.2);
  EXPECT_EQ(clip_scale(optimizer, 1), 1);
}

}  // namespace
}  // namespace sailor::trainer
