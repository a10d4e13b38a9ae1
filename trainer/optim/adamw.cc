#include "trainer/optim/adamw.h"

#include <cmath>

#include <ATen/ATen.h>

#include "trainer/optim/learning_rate.h"

namespace sailor::trainer {
namespace {

// Lists of the tensors that are updated in the same way, in the form that LibTorch's fused update takes.
struct TensorLists {
  std::vector<at::Tensor> weights, gradients, momenta, variances, steps;
};

TensorLists tensors_of(const LayerState& state, const at::Tensor& gradient, bool is_decayed, std::int64_t step) {
  TensorLists lists;
  const at::Tensor steps = at::scalar_tensor(static_cast<double>(step), state.weights.options());
  for (const TensorLayout& tensor : state.layout.tensors) {
    if (tensor.is_decayed != is_decayed) continue;
    lists.weights.push_back(view_of(state.weights, tensor));
    lists.gradients.push_back(view_of(gradient, tensor));
    lists.momenta.push_back(view_of(state.momentum, tensor));
    lists.variances.push_back(view_of(state.variance, tensor));
    lists.steps.push_back(steps);
  }
  return lists;
}

}  // namespace

void apply_adamw(const LayerState& state, const at::Tensor& gradient, const TrainingSpec& training, std::int64_t step,
                 double gradient_scale) {
  const OptimizerSpec& optimizer = training.optimizer;
  // The fused update divides by this, and leaves the quotient in the gradient.
  const std::optional<at::Tensor> divisor =
      gradient_scale == 1 ? std::nullopt : std::optional(at::full({1}, 1 / gradient_scale, gradient.options()));
  for (const bool is_decayed : {true, false}) {
    const TensorLists lists = tensors_of(state, gradient, is_decayed, step);
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
