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

// A message from one group of a stage to one group of the next.
struct LinkTiming {
  double latency = 0;
  double occupancy = 0;
};

struct StageTiming {
  std::vector<GroupTiming> groups;
  std::vector<LinkTiming> links;  // [group * groups of the next stage + group of the next stage]
  double link = 0;                // latency and occupancy of a message to the next stage, mean over routes

  // Means over microbatches, filled in by set_means().
  double forward = 0;
  double backward = 0;
  double unevenness = 0;  // the mean pass where the shares differ from a neighbouring stage's, else 0

  [[nodiscard]] double pass() const { return forward + backward; }
};

// From the groups and `links`, the means of stages and what the links add to groups.
void set_means(std::span<StageTiming> stages, int microbatches);

// What happens to a microbatch downstream of each stage before its gradient is back.
std::vector<double> downstream_times(std::span<const StageTiming> stages);

// Forward and backward passes of the busiest replica.
double longest_work(std::span<const StageTiming> stages);

// From the start of the step to its last backward pass, of the given part of the step's microbatches.
double pipeline_time(std::span<const StageTiming> stages, double part = 1);

// How long before the step's last backward pass a stage has done its own.
std::vector<double> tail_times(std::span<const StageTiming> stages);

// All replicas of all stages do the same number of microbatches.
bool has_equal_shares(std::span<const StageTiming> stages);

}  // namespace sailor
