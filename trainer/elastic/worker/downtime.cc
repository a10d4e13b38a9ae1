#include "trainer/elastic/worker/downtime.h"

#include <algorithm>
#include <chrono>

namespace sailor::trainer {
namespace {

double seconds_since(std::chrono::steady_clock::time_point then) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - then).count();
}

}  // namespace

void Downtime::learn(const std::vector<StateReport>& reports) {
  for (const StateReport& report : reports) {
    if (report.stopped_seconds <= 0) continue;
    const std::chrono::duration<double> ago(report.stopped_seconds);
    const Clock::time_point step = Clock::now() - std::chrono::duration_cast<Clock::duration>(ago);
    last_step_ = std::max(last_step_.value_or(step), step);
  }
}

double Downtime::seconds() const { return last_step_ ? seconds_since(*last_step_) : 0; }

double Downtime::seconds_so_far() const { return seconds_since(last_step_.value_or(obeyed_)); }

}  // namespace sailor::trainer
