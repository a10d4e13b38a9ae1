#include "report/scale.h"

#include <algorithm>
#include <cmath>

#include "core/model/check.h"

namespace sailor::report {
namespace {

double round_step(double least) {
  const double power = std::pow(10.0, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= least * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

}  // namespace

Scale::Scale(double from, double to, double start, double end) : from_(from), to_(to), start_(start), end_(end) {
  SAILOR_CHECK(from < to, "a scale from {} to {}", from, to);
}

double Scale::at(double value) const { return start_ + (value - from_) / (to_ - from_) * (end_ - start_); }

double Scale::clamped(double value) const { return at(std::clamp(value, from_, to_)); }

std::vector<double> Scale::ticks(int about) const {
  const double step = round_step((to_ - from_) / about);
  std::vector<double> ticks;
  // Multiplies instead of adding up, because sums of decimal steps drift.
  for (auto i = static_cast<long>(std::ceil(from_ / step - 1e-9)); static_cast<double>(i) * step <= to_ + step * 1e-9;
       ++i) {
    ticks.push_back(static_cast<double>(i) * step);
  }
  return ticks;
}

}  // namespace sailor::report
