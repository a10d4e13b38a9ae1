#include "operator/stragglers/change_detector.h"

#include <algorithm>

namespace sailor {
namespace {

// With 20 % noise a false alarm then comes once in exp(2 * 0.182 * 1.5 / 0.2^2) / (2 * (0.182 / 0.2)^2) = 500,000
// samples on average (Siegmund's approximation), and a factor of 2 is certain after three samples.
constexpr double kEnough = 1.5;
constexpr double kMostPerSample = kEnough / 2;
// A process that gets no processor for a moment, or a clock that jumps, disturbs one sample or two.
constexpr int kLeastSamples = 3;

}  // namespace

void ChangeDetector::Side::add(double deviation, double evidence_of_sample) {
  evidence += std::clamp(evidence_of_sample, -kMostPerSample, kMostPerSample);
  if (evidence <= 0) {
    *this = {};
    return;
  }
  if (++samples > 1) sum += deviation;
}

bool ChangeDetector::Side::is_certain() const { return evidence >= kEnough && samples >= kLeastSamples; }

std::optional<double> ChangeDetector::add(double deviation, double weight) {
  weight = std::min(weight, kLargestWeight);
  up_.add(deviation, weight * (deviation - kTolerance));
  down_.add(deviation, weight * (-deviation - kTolerance));
  for (const Side& side : {up_, down_}) {
    if (!side.is_certain()) continue;
    forget();
    return side.mean();
  }
  return std::nullopt;
}

}  // namespace sailor
