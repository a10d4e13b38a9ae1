#include "operator/metrics/goodput_window.h"

#include <algorithm>

namespace sailor {
namespace {

constexpr double kWindow = 3600;
constexpr double kSpacing = 60;

}  // namespace

void GoodputWindow::add(double elapsed_seconds, double useful_seconds) {
  // The operator has seen all of a young job's time, even if it started after the job.
  if (points_.empty() && elapsed_seconds < kWindow) points_.push_back({});
  const bool replaces_newest = points_.size() >= 2 && elapsed_seconds - points_[points_.size() - 2].elapsed < kSpacing;
  if (replaces_newest) points_.pop_back();
  points_.push_back({elapsed_seconds, useful_seconds});
  while (points_.size() >= 2 && points_[1].elapsed <= elapsed_seconds - kWindow) points_.pop_front();
}

std::optional<double> GoodputWindow::ratio() const {
  if (points_.empty()) return std::nullopt;
  const Point& oldest = points_.front();
  const Point& newest = points_.back();
  const double elapsed = newest.elapsed - oldest.elapsed;
  const bool is_whole_life = oldest.elapsed == 0;
  if (elapsed <= 0 || (elapsed < kSpacing && !is_whole_life)) return std::nullopt;
  return std::clamp((newest.useful - oldest.useful) / elapsed, 0.0, 1.0);
}

}  // namespace sailor
