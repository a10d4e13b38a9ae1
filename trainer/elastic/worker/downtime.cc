#include "trainer/elastic/worker/downtime.h"

#include <algorithm>

namespace sailor::trainer {
namespace {

double seconds_since(std::chrono::steady_clock::time_point then) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - then).count();
}

}  // namespace

void Downtime::learn(const std::vector<StateReport>& reports) {
  if (last_step_) return;
  double seconds = 0;
  for (const StateReport& report : reports) seconds = std::max(seconds, report.stopped_seconds);
  const auto ago = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  if (seconds > 0) last_step_ = Clock::now() - ago;
}

double Downtime::seconds() const { return last_step_ ? seconds_since(*last_step_) : 0; }

double Downtime::seconds_so_far() const { return seconds_since(last_step_.value_or(obeyed_)); }

}  // namespace sailor::trainer
