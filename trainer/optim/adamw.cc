#include "trainer/optim/adamw.h"

#include <cmath>

#include <ATen/ATen.h>

#include "trainer/optim/learning_rate.h"

namespace sailor::trainer {
namespace {

// The slices that are updated alike, as lists that LibTorch's fused update takes.
struct SliceLists {
  std::vector<at::Tensor> weights, gradients, momenta, variances, steps;
};

SliceLists slices_of(const PieceState& state, const at::Tensor& gradient, bool is_decayed, std::int64_t step) {
  SliceLists lists;
  for (const Slice& slice : state.part.slices) {
    if (slice.is_decayed != is_decayed) continue;
    lists.weights.push_back(view_of(state.weights, slice));
    lists.gradients.push_back(view_of(gradient, slice));
    lists.momenta.push_back(view_of(state.momentum, slice));
    lists.variances.push_back(view_of(state.variance, slice));
    lists.steps.push_back(at::scalar_tensor(static_cast<double>(step), state.weights.options()));
  }
  return lists;
}

}  // namespace

void apply_adamw(const PieceState& state, const at::Tensor& gradient, const TrainingSpec& training, std::int64_t step,
                 double gradient_scale) {
  const OptimizerSpec& optimizer = training.optimizer;
  // The fused update divides by this, and leaves the quotient in the gradient.
  const std::optional<at::Tensor> divisor =
      gradient_scale == 1 ? std::nullopt : std::optional(at::full({1}, 1 / gradient_scale, gradient.options()));
  for (const bool is_decayed : {true, false}) {
    const SliceLists lists = slices_of(state, gradient, is_decayed, step);
    if (lists.weights.empty()) continue;
    at::_fused_adamw_(lists.weights, lists.gradients, lists.momenta, lists.variances, {}, lists.steps,
                      learning_rate(training, step), optimizer.beta1, optimizer.beta2,
                      is_decayed ? optimizer.weight_decay : 0, optimizer.epsilon, false, false, divisor);
  }
}

double clip_scale(const OptimizerSpec& optimizer, double squared_norm) {
  if (!optimizer.clip_norm) return 1;
  const double norm = std::sqrt(squared_norm);
  return norm > *optimizer.clip_norm ? *optimizer.clip_norm / norm : 1;
}

}  // namespace sailor::trainer
