#include "trainer/optim/learning_rate.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace sailor::trainer {
namespace {

constexpr double kCosineFloor = 0.1;  // a cosine schedule ends at this fraction of the peak (Hoffmann et al. 2022)

// Grows from 0 at the end of the warm-up to 1 at the last step.
double decay_progress(const TrainingSpec& training, std::int64_t step) {
  const auto begin = training.optimizer.warmup_steps;
  const auto length = std::max<std::int64_t>(training.steps - begin, 1);
  return std::clamp(static_cast<double>(step - begin) / static_cast<double>(length), 0.0, 1.0);
}

}  // namespace

double learning_rate(const TrainingSpec& training, std::int64_t step) {
  const OptimizerSpec& optimizer = training.optimizer;
  const double peak = optimizer.learning_rate;
  if (step <= optimizer.warmup_steps) {
    return peak * static_cast<double>(step) / static_cast<double>(optimizer.warmup_steps);
  }
  const double progress = decay_progress(training, step);
  switch (optimizer.schedule) {
    case LearningRateSchedule::kConstant:
      return peak;
    case LearningRateSchedule::kLinear:
      return peak * (1 - progress);
    case LearningRateSchedule::kCosine:
      return peak * (kCosineFloor + (1 - kCosineFloor) * (1 + std::cos(std::numbers::pi * progress)) / 2);
  }
  return peak;
}

}  // namespace sailor::trainer
