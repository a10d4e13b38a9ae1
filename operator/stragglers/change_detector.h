// ChangeDetector: notices that a noisy value has changed for good. It is Page's cumulative sum test (E. S. Page,
// "Continuous Inspection Schemes", Biometrika 41, 1954) in both directions, on logarithms of times: evidence adds up
// only while the value is further from the expected one than a tolerance, and a change is what the evidence shows.
#pragma once

#include <optional>

namespace sailor {

class ChangeDetector {
 public:
  static constexpr double kLargestWeight = 4;
  static constexpr double kTolerance = 0.182;  // smaller deviations count against a change: the logarithm of 1.2

  // Adds a sample. `deviation` is how far the logarithm of the time is above the expected one; `weight` is how much the
  // sample tells: 1 if it has 20 % of noise, and 1 over the factor of the variance otherwise, but at most
  // kLargestWeight. Returns the mean deviation since the change once a change is certain; the caller then expects the
  // new value. A change that does not last for three samples is never certain, however large it is.
  std::optional<double> add(double deviation, double weight);

  void forget() { up_ = down_ = {}; }
  [[nodiscard]] bool is_quiet() const { return up_.evidence <= 0 && down_.evidence <= 0; }

 private:
  struct Side {
    double evidence = 0;
    int samples = 0;
    double sum = 0;  // of the deviations but the first, whose steps may have been partly before the change
    void add(double deviation, double evidence_of_sample);
    [[nodiscard]] bool is_certain() const;
    [[nodiscard]] double mean() const { return sum / (samples - 1); }
  };

  Side up_;
  Side down_;
};

}  // namespace sailor
