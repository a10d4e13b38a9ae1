// Pipeline time: how long the passes of a step take, by a closed form (the fast estimate of the design's schedule
// study). O(groups of replicas), however many GPUs there are.
#pragma once

#include <span>
#include <vector>

namespace sailor {

// All times in seconds.
struct GroupTiming {
  double forward = 0;
  double backward = 0;
  double occupancy = 0;  // of the links to both neighbouring stages by one microbatch, one direction
  int microbatches = 0;
  int count = 0;
  int cap = 1;  // microbatches in flight

  [[nodiscard]] double pass() const { return forward + backward; }
};

struct StageTiming {
  std::vector<GroupTiming> groups;
  double link = 0;  // latency and occupancy of a message to the next stage, mean over routes

  // Means over microbatches, filled in by set_means().
  double forward = 0;
  double backward = 0;
  double unevenness = 0;  // the mean pass where the shares differ from a neighbouring stage's, else 0

  [[nodiscard]] double pass() const { return forward + backward; }
};

void set_means(std::span<StageTiming> stages, int microbatches);

// What happens to a microbatch downstream of each stage before its gradient is back.
std::vector<double> downstream_times(std::span<const StageTiming> stages);

// From the start of the step to its last backward pass.
double pipeline_time(std::span<const StageTiming> stages);

// How long before the step's last backward pass a stage has done its own.
std::vector<double> tail_times(std::span<const StageTiming> stages);

}  // namespace sailor
